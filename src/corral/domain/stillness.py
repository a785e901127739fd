"""What of a screen shows that its program gets on, and what only shows that it is alive. Pure.

While a program waits for somebody, most of them let something turn and the seconds run. None of that is progress, so
two screens that differ in nothing else have the same mark. Other figures count: a build that has come to 46 % gets on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from corral.domain.screen_patterns import Shown

#: How long something takes, or what time it is.
_TIMES = re.compile(
    r"\b\d{1,3}:\d\d(?::\d\d)?\b|\b\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b"
)
#: What turns and blinks: signs that are no letters, outside of ASCII where dots are what tests print, …
_SIGNS = re.compile(r"[^\w\x00-\x7f]")
#: … and within it a single one that stands alone, or brackets that had nothing but a time in them.
_LONE_SIGN = re.compile(r"(?<!\S)[-|/\\*+.](?!\S)|\(\s*\)")


def mark(lines: Sequence[str], volatile: Sequence[str] = ()) -> str:
    """The same for two screens between which nothing has got on.

    `volatile` are regular expressions: a line that one of them is found in says nothing.
    """
    shown = Shown(lines)
    idle = {number for pattern in volatile for number in shown.lines_with(pattern)}
    told = (_lasting(line) for number, line in enumerate(shown.lines) if number not in idle)
    lasting = "\n".join(line for line in told if line)
    return hashlib.blake2b(lasting.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _lasting(line: str) -> str:
    without_signs = _SIGNS.sub(" ", _TIMES.sub(" ", line))
    return " ".join(_LONE_SIGN.sub(" ", without_signs).split())
