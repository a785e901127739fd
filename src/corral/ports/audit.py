"""What the audit asks of whoever keeps its trail. Entries are written first, and on the disk a little later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from corral.domain.audit import Entry, Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How far the trail got."""

    #: The last entry.
    number: int
    #: How many entries no signature vouches for yet.
    unsigned: int
    #: A checkpoint that was signed on the way, at the end of a file.
    to_ship: bytes | None = None


class AuditTrail(Protocol):
    """The trail, for one event loop, which waits for no disk. What cannot be written is a `RefusedError`; if that is so
    because somebody meddled with the files, a `BrokenTrailError`."""

    @property
    def head(self) -> tuple[int, str]:
        """The last entry that was written: its number and its hash."""
        ...

    async def append(self, notes: Sequence[Note]) -> Reached:
        """Return when the kernel has all of them: they outlive this process. Raises, and then none is in the trail."""
        ...

    def append_now(self, notes: Sequence[Note]) -> Reached | None:
        """As `append`, before this returns; None, and none is in the trail, if it would take longer than to hand some
        lines to the kernel."""
        ...

    async def sync(self) -> int:
        """Return when all that was appended before is on the disk: the number of the last such entry."""
        ...

    async def checkpoint(self) -> bytes | None:
        """Sign all that was appended before: the line to ship, or None if nothing is new.

        The first time it can be the one that was signed when the trail was opened.
        """
        ...

    async def last(self, count: int, fits: Callable[[Entry], bool]) -> list[Entry]:
        """The last so many entries that fit, in order."""
        ...

    async def after(
        self, number: int, since: str, fits: Callable[[Entry], bool], limit: int
    ) -> tuple[list[Entry], int]:
        """Entries after a number, from a time on, that fit: so many at most, in order.

        And the number of the last one that was looked at, to go on from.
        """
        ...

    async def close(self) -> bytes | None:
        """Sign what is there and let go of it: the line to ship, if there is one."""
        ...


#: Takes a checkpoint to where whoever writes the trail cannot change it. Raises `CorralError` if it could not.
Ship = Callable[[bytes], None]
