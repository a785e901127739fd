"""The sessions of a team, of both kinds, as one.

Agents with a terminal are under the team's tmux server, the others under the host of its processes. Each kind is looked
at for itself: the loss of one says nothing about the other, and a team that needs no tmux never starts one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from corral.domain.errors import RefusedError
from corral.ports.keyboard import Keyboard
from corral.ports.runs import ExitStatus, Presence
from corral.ports.runtime import Runtime, Screen, Session, SessionOrder, TerminalRuntime, View
from corral.ports.sessions import GuestTerminal, Picture, SeatOrder


@dataclass(frozen=True, slots=True)
class Views:
    """What there is of each kind."""

    terminals: View
    plain: View

    @property
    def presence(self) -> Presence:
        """Of the team as a whole: absent only if nothing of either kind is there."""
        both = (self.terminals.presence, self.plain.presence)
        if "unknown" in both:
            return "unknown"
        return "present" if "present" in both else "absent"

    @property
    def sessions(self) -> list[Session]:
        """Those that can be seen."""
        present = (view for view in (self.terminals, self.plain) if view.presence == "present")
        return [session for view in present for session in view.sessions]

    @property
    def without_terminal(self) -> frozenset[str]:
        """The agents that have a session and no terminal."""
        return frozenset(session.agent for session in self.plain.sessions)


class Runtimes:
    """A runtime for terminals and one without. Each run goes to its own; see `ports.runtime.Runtime`."""

    def __init__(self, terminals: TerminalRuntime, plain: Runtime) -> None:
        self._terminals = terminals
        self._plain = plain
        self._of_run: dict[str, Runtime] = {}

    async def view(self) -> Views:
        """Look at both. Starts nothing."""
        views = Views(*await asyncio.gather(self._terminals.view(), self._plain.view()))
        for session in views.sessions:
            self._of_run[session.run] = self._terminals if session.terminal else self._plain
        return views

    @property
    def tmux_pid(self) -> int | None:
        """The tmux server, once there is one that is connected to."""
        return self._terminals.server_pid

    def has_terminal(self, run: str) -> bool:
        """False for a run that is known to have none."""
        return self._of_run.get(run) is not self._plain

    async def prepare_terminals(self, *, left_alone: bool) -> None:
        """Have a tmux server."""
        await self._terminals.prepare(left_alone=left_alone)

    async def start(self, orders: Iterable[SessionOrder], *, terminal: bool) -> dict[str, Session | str]:
        """Start sessions of one kind in one go, see `Runtime.start`; by run, what came of each."""
        runtime = self._terminals if terminal else self._plain
        runs = []

        def noted() -> Iterator[SessionOrder]:
            for order in orders:
                self._of_run[order.run] = runtime
                runs.append(order.run)
                yield order

        started = await runtime.start(noted())
        return dict(zip(runs, started, strict=True))

    async def find_programs(self, sessions: Sequence[Session]) -> None:
        """See `Runtime.find_programs`. The processes of both kinds look alike."""
        await self._plain.find_programs(sessions)

    async def send(self, run: str, text: str, *, enter: bool, pause: float, last: bool) -> None:
        """See `Runtime.send`."""
        await (await self._of(run)).send(run, text, enter=enter, pause=pause, last=last)

    async def keyboard(self, run: str) -> Keyboard | None:
        """See `Runtime.keyboard`."""
        return (await self._of(run)).keyboard(run)

    async def screen(self, run: str, history: int = 0) -> list[str]:
        """See `Runtime.screen`."""
        return await (await self._of(run)).screen(run, history)

    async def ring(self, text: str) -> int:
        """See `Runtime.ring`."""
        return await self._terminals.ring(text)

    async def last_key(self) -> float | None:
        """See `Runtime.last_key`. Without a terminal there are no keys."""
        return await self._terminals.last_key()

    async def attach_command(self, run: str, *, read_only: bool) -> list[str]:
        """See `Runtime.attach_command`."""
        return await (await self._of(run)).attach_command(run, read_only=read_only)

    async def open_guest(
        self,
        run: str,
        seat: SeatOrder,
        *,
        read_only: bool,
        on_output: Callable[[bytes], None],
        on_closed: Callable[[], None],
    ) -> GuestTerminal:
        """See `GuestTerminals.open_guest`."""
        if await self._of(run) is not self._terminals:
            raise RefusedError(
                "the agent has no terminal that people could share",
                "corral logs -f follows it, corral send speaks to it",
            )
        return await self._terminals.open_guest(
            run, seat, read_only=read_only, on_output=on_output, on_closed=on_closed
        )

    async def show_company(self, run: str, line: str) -> None:
        """See `GuestTerminals.show_company`."""
        await self._terminals.show_company(run, line)

    async def picture(self, run: str) -> Picture:
        """See `Pictures.picture`."""
        return await self._terminals.picture(run)

    async def screens(self, runs: Sequence[str]) -> dict[str, Screen]:
        """See `Runtime.screens`."""
        return await self._terminals.screens(runs)

    async def calm(self, runs: Sequence[str]) -> None:
        """See `Runtime.calm`."""
        for runtime, its in self._sorted(runs):
            await runtime.calm(its)

    def unwatch(self, runs: Sequence[str]) -> None:
        """See `Runtime.unwatch`."""
        for runtime, meant in self._sorted(runs):
            runtime.unwatch(meant)

    def guests(self, runs: Sequence[str]) -> list[int]:
        """See `Runtime.guests`."""
        return [pid for runtime, meant in self._sorted(runs) for pid in runtime.guests(meant)]

    async def exits(self, runs: Sequence[str]) -> dict[str, ExitStatus]:
        """See `Runtime.exits`."""
        found = await asyncio.gather(*(runtime.exits(meant) for runtime, meant in self._sorted(runs)))
        return {run: status for some in found for run, status in some.items()}

    async def remove(self, runs: Sequence[str]) -> None:
        """See `Runtime.remove`."""
        for runtime, meant in self._sorted(runs):
            await runtime.remove(meant)
        for run in runs:
            self._of_run.pop(run, None)

    async def end(self, views: Views) -> None:
        """End the tmux server, if there is one, and let go of the rest: their host is the team's."""
        await self._terminals.end_server(answers=views.terminals.presence == "present")
        await self._plain.end_server(answers=views.plain.presence == "present")
        self._of_run.clear()

    def close(self) -> None:
        """See `Runtime.close`."""
        self._terminals.close()
        self._plain.close()

    async def _of(self, run: str) -> Runtime:
        if run not in self._of_run:
            await self.view()
        # Whoever has no session at all is told so by either.
        return self._of_run.get(run, self._terminals)

    def _sorted(self, runs: Sequence[str]) -> list[tuple[Runtime, list[str]]]:
        """Each runtime with those of the runs that are its own, if any are. One that nobody knows may be tmux's."""
        of_tmux = [run for run in runs if self.has_terminal(run)]
        plain = [run for run in runs if not self.has_terminal(run)]
        return [(runtime, meant) for runtime, meant in ((self._terminals, of_tmux), (self._plain, plain)) if meant]
