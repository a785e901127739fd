"""Where the output of an agent and the way to start it are kept on a keeper's host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from corral.ports.output import LogPage


class Log(Protocol):
    """The output of one agent: bounded, with the time of every piece, readable from any cursor."""

    @property
    def dirty(self) -> bool:
        """True if there is something to flush."""

    def add(self, time: float, data: bytes, of: tuple[str, int] | None = None) -> None:
        """Take a piece of output; it is kept with the next `flush`.

        `of` is the run that it is from, and the position after it in all that the run wrote: kept with it, so that
        `recorded` is true after any kind of end.
        """

    def flush(self) -> None:
        """Keep what was added. Raises OSError, and drops it, if that cannot be done."""

    def recorded(self, run: str) -> int:
        """The position after the last piece of this run that is kept; 0 if none is, or none had one."""

    def read(self, *, after: int | None, lines: int | None, since: float | None) -> LogPage:
        """A page of output from a cursor on, or with `after` None the end of it."""

    def close(self) -> None:
        """Let go of what is held open."""


class Launches(Protocol):
    """How a program gets its argv and environment without either being seen."""

    def write(
        self,
        *,
        agent: str,
        run: str,
        command: Sequence[str],
        shell: bool,
        working_directory: str,
        environment: Mapping[str, str] | None,
        gated: bool,
        note: str,
        terminal: bool = True,
        through: Sequence[str] = (),
        credential: str = "",
    ) -> str:
        """Prepare a run and return the file to start. None as environment: the one of the agent's last run.

        With `gated` the run waits before it starts anything, until `open_gate`. `note` is one line for whoever has to
        open the gate if this process cannot any more. Without a `terminal` it ends as soon as its program does. The
        program is started by `through`, if there is any, which is given its argv. A `credential` is in a file of its
        own, which a variable of the run names: programs show their environment more often than they mean to.
        """

    def note_of(self, agent: str, run: str) -> str:
        """The note that a run was prepared with; empty if it is gone."""

    def is_gated(self, agent: str, run: str) -> bool:
        """True if the run may still wait at its gate."""

    def open_gate(self, agent: str, run: str) -> None:
        """Let the run go on, now or when it gets to its gate. Nothing happens to a run without one."""

    def gate_passed(self, agent: str, run: str) -> None:
        """The run has started its program: its gate is taken away."""

    def command_of(self, agent: str, run: str) -> tuple[tuple[str, ...], bool] | None:
        """The command of a run that was prepared earlier, and whether it is for a shell; None if it is gone."""

    def environment_of(self, agent: str) -> dict[str, str] | None:
        """The environment that the agent was started with, not to be changed; the same object until it is another one.

        None if it is gone.
        """

    def keep_environment(self, agent: str, environment: Mapping[str, str]) -> None:
        """Keep the environment that the next run of an agent is to have, as if its last one had had it."""

    def own_directory(self, run: str) -> str:
        """Where tmux is to have its sockets that is started in this run: not where ours are, nor the person's."""

    def credential_file(self, agent: str) -> str:
        """The file that has the credential of the agent's present run."""

    def credential_of(self, agent: str) -> str:
        """The credential of the agent's present run; empty if it has none."""

    def exit_code(self, agent: str, run: str) -> int | None:
        """How a run ended, as a shell tells it; None while it has not, or was killed with its shell."""

    def oom_kills(self, agent: str, run: str) -> int:
        """How often the kernel killed a process of a run that ended for want of memory, as far as that is known."""

    def forget_run(self, agent: str, run: str) -> None:
        """Drop what was prepared for a run that ended."""

    def forget_agent(self, agent: str) -> None:
        """Drop everything of an agent."""

    def forget_team(self) -> None:
        """Drop everything of the team."""
