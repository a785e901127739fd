"""What a keeper does with the commands that agents start; the commands themselves are in `ports.processes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from corral.ports.processes import Execution, Process, ProcessOrder


class Executing(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def execute(self, team: str, order: ProcessOrder, wait: float | None, limit: int) -> Execution:
        """Start a command for an agent, and wait for its end for so many seconds (None: however long it takes).

        Comes back with at most `limit` bytes of its output. A command that has not ended goes on. Idempotent by id.
        """

    async def processes(self, team: str, agent: str) -> list[Process]:
        """What an agent started through `execute`, the oldest first; with an empty name, all agents of the team."""

    async def read_process(
        self, team: str, agent: str, process: str, *, after: int, limit: int, wait: float | None, late: bool
    ) -> Execution:
        """Output of a process from a cursor on. Waits so long for there to be some, or for the end of it.

        With `late`, which is for who knows of its end, that is waited for which others write then. Without, one that
        has ended is told at once, be it before or after this began.

        `NotFoundError` if the agent has no such process; an empty name is any agent of the team. As with the others.
        """

    async def wait_process(self, team: str, agent: str, process: str, *, wait: float | None) -> Process:
        """Wait so long for the end of the command."""

    async def write_process(self, team: str, agent: str, process: str, *, data: bytes, eof: bool) -> None:
        """Give a process something to read; with `eof` nothing after it."""

    async def resize_process(self, team: str, agent: str, process: str, *, columns: int, rows: int) -> None:
        """Change the size of the terminal of a process."""

    async def signal_process(self, team: str, agent: str, process: str, *, number: int) -> int:
        """Send a signal to everything of a process; to how many it went."""

    async def end_process(self, team: str, agent: str, process: str, *, grace: float) -> Execution:
        """End everything of a process: politely, then by force. `survivors` is what would not end."""

    async def forget_processes(self, team: str, agent: str, processes: list[str]) -> None:
        """Drop the records of processes. `RefusedError`, and nothing is dropped, if something of one still runs."""
