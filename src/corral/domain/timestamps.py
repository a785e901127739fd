"""Moments, as everybody is told of them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

#: No moment that is told is later, in unix seconds: it could not be written as a date.
_LATEST = 1e11


def can_be(seconds: float) -> bool:
    """True of what somebody else says if it is a moment since 1970 that can be told."""
    return 0.0 <= seconds < _LATEST  # of what is no number every comparison is false


def timestamp(seconds: float) -> str:
    """Unix seconds as RFC 3339 in UTC, with milliseconds."""
    second, microseconds = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(second)}.{microseconds // 1000:03d}Z"


@lru_cache(maxsize=64)
def _second(second: int) -> str:
    """Much of what is told in a second is of that second, or of the one in which something else will be."""
    return datetime.fromtimestamp(second, UTC).isoformat()[:-6]
