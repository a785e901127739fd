"""What runs the sessions of a team: tmux, or plain processes for agents without a terminal.

A runtime starts programs, tells what became of them, and carries words in and output out. It kills nothing but
terminals: ending processes is the business of containment. `tests/conformance/runtime` says what each kind must do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from corral.ports.keyboard import Keyboard
from corral.ports.runs import ExitStatus, Presence
from corral.ports.sessions import GuestTerminals, Pictures


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOrder:
    """A session to start."""

    agent: str
    run: str
    #: Absolute path of the launch file; it is run with /bin/sh and becomes the agent's program.
    launch_file: str
    #: Words can be sent to it. False only without a terminal: its standard input is empty and at its end.
    stdin: bool = True


@dataclass(slots=True, kw_only=True)
class Session:
    """A session as the runtime sees it."""

    agent: str
    run: str
    #: The process that the terminal belongs to. It ends after the program, with the program's exit code.
    terminal_pid: int
    #: The program itself; the terminal's process until the program is known.
    pid: int
    #: True once the program ended; its terminal may still be there to be read.
    dead: bool = False
    exit: ExitStatus | None = None
    #: It has a terminal, and output is what its screen was sent. Otherwise output is exact: each byte is handed on
    #: once, whatever becomes of whoever listens.
    terminal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What there is. `sessions` means nothing unless `presence` is "present"."""

    presence: Presence
    server_pid: int | None = None
    sessions: tuple[Session, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a terminal shows."""

    #: From the top, those at the end that show nothing left out.
    lines: list[str]
    #: What its program calls it.
    title: str = ""


class RuntimeListener(Protocol):
    """Who wants to hear of what happens; called in the event loop."""

    def output(self, run: str, data: bytes, end: int | None = None) -> None:
        """The program wrote these bytes. `end` is the position after them, where the runtime counts (no terminal)."""

    def recorded(self, agent: str, run: str) -> int:
        """How much of a run's output has been taken, by this listener or one before it. From there on it is given."""

    def output_lost(self, run: str) -> None:
        """Output was skipped, because the listener was too slow for it."""

    def resized(self, run: str, columns: int, rows: int) -> None:
        """The terminal of a run has this size now. Told of changes only."""

    def exited(self, session: Session) -> None:
        """The program ended; `session.exit` says how, if that is known."""

    def server_changed(self, why: str) -> None:
        """The connection to the server was lost, or a silent one answers again: `view` finds out what is true."""


class Runtime(Protocol):
    """The sessions of one team, of one kind."""

    async def view(self) -> View:
        """Look, and connect to a server that is there. Starts nothing."""

    async def prepare(self, *, left_alone: bool) -> None:
        """Have what `start` needs. It may be called ahead, so that a server starts while orders are being written.

        With `left_alone` a new server may put its panes wherever it does by itself; else it is kept from it, because
        somebody else gives them their places.
        """

    @property
    def server_pid(self) -> int | None:
        """The server that this runtime is connected to; None while it is to none."""

    async def start(self, orders: Iterable[SessionOrder]) -> list[Session | str]:
        """Start the sessions in one go, the server first if need be. A string is why one was refused.

        The first may be started before the last order is made.
        """

    async def find_programs(self, sessions: Sequence[Session]) -> None:
        """Set the `pid` of sessions whose program is not known yet; waits for those that are on their way to it."""

    async def send(self, run: str, text: str, *, enter: bool, pause: float, last: bool = False) -> None:
        """Give a session something to read; with `enter`, submit it after a pause.

        Into a terminal it is pasted, with control characters made visible. Without one it is written to standard
        input as it is, which ends with it if it is the `last`.
        """

    def keyboard(self, run: str) -> Keyboard | None:
        """The keyboard of a session; None if it is of a kind that has none. Starts and asks nothing."""

    async def screen(self, run: str, history: int = 0) -> list[str]:
        """The screen of a session with up to `history` lines above it, trailing blank lines left out.

        Without a terminal: the last lines of its output.
        """

    async def ring(self, text: str) -> int:
        """Ring the bell of every terminal that a person has attached, and show them a line; how many there are."""

    async def screens(self, runs: Sequence[str]) -> dict[str, Screen]:
        """The screens of many sessions, in one question. Those that have no terminal, or none now, are left out."""

    async def calm(self, runs: Sequence[str]) -> None:
        """Have the terminals of runs that were killed forget what their programs had asked them to tell.

        What they show may be gone afterwards. One that ended by itself has seen to it.
        """

    def unwatch(self, runs: Sequence[str]) -> None:
        """Report no exit of these runs any more: whoever ends them will see it."""

    async def exits(self, runs: Sequence[str]) -> dict[str, ExitStatus]:
        """How these runs ended, which somebody just ended; those that cannot be told in a moment are left out."""

    def guests(self, runs: Sequence[str]) -> list[int]:
        """Processes in terminals that people or agents opened inside the sessions of these runs."""

    async def remove(self, runs: Sequence[str]) -> None:
        """Take away the terminals of these runs, and what is kept of their output."""

    async def end_server(self, *, answers: bool) -> None:
        """End the server and return when its process is gone. One that does not answer is not asked first."""

    async def last_key(self) -> float | None:
        """Seconds since somebody who is attached to a session last typed; None if nobody is."""

    async def attach_command(self, run: str, *, read_only: bool) -> list[str]:
        """The argv that joins a session, which is there. Without a terminal one can only watch."""

    def close(self) -> None:
        """Let go of everything without ending anything."""


class TerminalRuntime(Runtime, GuestTerminals, Pictures, Protocol):
    """A runtime whose sessions have terminals, which others can be shown."""
