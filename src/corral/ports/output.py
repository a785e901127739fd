"""What agents show: on their screens, and in their logs."""

from __future__ import annotations

from typing import Protocol

import msgspec

from corral.ports.record import Record


class TerminalShown(Record, frozen=True):
    """What a terminal shows."""

    lines: list[str] = msgspec.field(default_factory=list)
    #: What its program calls it; empty without a terminal.
    title: str = ""


class LogEntry(Record, frozen=True):
    """A piece of terminal output."""

    time: float
    text: str


class LogPage(Record, frozen=True):
    """Output from a cursor on, and the cursor to go on from."""

    entries: list[LogEntry]
    next: int
    #: Output between the cursor asked for and the first entry is gone (rotated away).
    cut: bool = False


class Showing(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def screen(self, team: str, run: str) -> TerminalShown:
        """What the terminal shows now; without one, the last lines of the output."""

    async def attach_command(self, team: str, run: str, *, read_only: bool) -> list[str]:
        """The argv that joins the terminal of a run."""

    async def read_log(
        self, *, team: str, agent: str, after: int | None, lines: int | None, since: float | None, wait: bool
    ) -> LogPage:
        """Output after a cursor, or the end of it; with `wait`, not before there is some."""
