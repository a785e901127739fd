"""Whether what somebody asked for may still be done when its turn has come.

Who may do something is decided before anybody waits. Whoever then waits for others, for the lock of a team for one,
asks once more when nobody can come between any more: what it is about may be another's by then.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

#: Asked with the lock held; raises if it may not go on.
MayGoOn = Callable[[], Awaitable[None]]


async def as_decided() -> None:
    """Where nobody decides about requests, and for what Corral does by itself."""
