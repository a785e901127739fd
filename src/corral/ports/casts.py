"""Recordings of terminals: what the daemon may ask of a keeper, and where a keeper puts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from corral.domain.asciicast import Event
from corral.ports.record import Record


class RecordingOrder(Record, frozen=True):
    """Whether the terminals of a team are recorded, and what is kept out of everything that is written of them."""

    on: bool = False
    #: Seconds, and bytes of one agent, that are kept.
    keep: float = 0.0
    max_size: int = 0
    #: By agent, the variables whose values are masked, in recordings and in logs.
    masked: dict[str, list[str]] = msgspec.field(default_factory=dict)


class RecordingShown(Record, frozen=True):
    """A recording that there is."""

    #: By it, it is read.
    id: str
    #: Unix time of its beginning, and of the last that was written.
    began: float
    ended: float
    bytes: int


class RecordingPiece(Record, frozen=True):
    """A piece of a recording as it is on the disk. An empty one is the end, for now."""

    data: bytes = b""


class Recordings(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def record(self, team: str, order: RecordingOrder) -> None:
        """Record the terminals of a team from now on, or no more; mask from now on what is to be masked."""

    async def recordings(self, team: str, agent: str) -> list[RecordingShown]:
        """What there is of an agent, the oldest first."""

    async def read_recording(self, team: str, agent: str, recording: str, *, after: int) -> RecordingPiece:
        """What comes after so many bytes; `NotFoundError` if there is no such recording."""


@dataclass(frozen=True, slots=True)
class CastRest:
    """What a full recording has no place for; the next one begins with it."""

    #: The size that the terminal had then.
    size: tuple[int, int]
    #: With unix times, and masked.
    events: Sequence[Event]
    #: What came last and is held back in case it becomes a secret, or a letter; as it came.
    held: bytes
    #: When that was.
    held_at: float


class Cast(Protocol):
    """One recording that is being written. Times are unix seconds. Errors of the disk are raised by `flush`."""

    @property
    def id(self) -> str:
        """By it, it is read."""

    def output(self, at: float, data: bytes) -> None:
        """What a terminal showed."""

    def resized(self, at: float, columns: int, rows: int) -> None:
        """It has another size."""

    def marked(self, at: float, text: str) -> None:
        """Something happened that is worth finding again."""

    def limit(self, max_size: int) -> bool:
        """So much may be kept of the agent from now on; True if this one alone is too long for that."""

    @property
    def full(self) -> bool:
        """It had no place for all that was to be written: the next one should be begun, with the rest."""

    def flush(self) -> None:
        """Write what was taken, as far as there is place for it. What the disk does not take is dropped."""

    def take_rest(self) -> CastRest:
        """Give away what there was no place for, and what is held back."""

    def carry_on(self, rest: CastRest) -> None:
        """Begin with what the one before had no place for."""

    def close(self) -> None:
        """Write the rest, also if there is no place for it, with what was held back in case it became a secret."""


class Casts(Protocol):
    """The recordings of one agent."""

    def begin(self, *, run: str, at: float, size: tuple[int, int], secrets: Mapping[str, str], max_size: int) -> Cast:
        """A new one."""

    def listed(self) -> list[RecordingShown]:
        """Those that there are, the oldest first."""

    def read(self, recording: str, after: int) -> bytes:
        """A piece of one; `NotFoundError` if it is not there."""

    def sweep(self, *, older_than: float, max_size: int, spare: str) -> int:
        """Throw away what is too old, and the oldest of what is too much, but not `spare`; how many."""


#: Opens the recordings of an agent (team, agent).
OpenCasts = Callable[[str, str], Casts]
