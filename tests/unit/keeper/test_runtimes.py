"""Both kinds of sessions as one: each run goes to its own runtime, and the loss of one kind is not the other's."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import cast

import pytest

from corral.domain.errors import NotFoundError
from corral.keeper.runtimes import Runtimes
from corral.ports.runs import ExitStatus, Presence
from corral.ports.runtime import Screen, Session, SessionOrder, TerminalRuntime, View

OF_TMUX, PLAIN = "aaaaaaaaaaaa", "bbbbbbbbbbbb"


def with_terminals(kind: "Kind") -> TerminalRuntime:
    """Nobody is shown a terminal here."""
    return cast("TerminalRuntime", kind)


class Kind:
    """A runtime of one kind that writes down what it was asked."""

    server_pid = 7

    def __init__(self, *, terminal: bool, sessions: Sequence[str] = (), presence: Presence = "present") -> None:
        self.asked: list[object] = []
        self.presence: Presence = presence
        self._terminal = terminal
        self._sessions = [self._session(run) for run in sessions]

    def _session(self, run: str) -> Session:
        return Session(agent=run[0], run=run, terminal_pid=1, pid=1, terminal=self._terminal)

    async def view(self) -> View:
        return View(presence=self.presence, sessions=tuple(self._sessions), why=f"it is {self.presence}")

    async def prepare(self, *, left_alone: bool) -> None:
        self.asked.append("prepare")

    async def start(self, orders: Iterable[SessionOrder]) -> list[Session | str]:
        runs = [order.run for order in orders]
        self.asked.append(runs)
        return [self._session(run) for run in runs]

    async def find_programs(self, sessions: Sequence[Session]) -> None:
        self.asked.append("programs")

    async def send(self, run: str, text: str, *, enter: bool, pause: float, last: bool = False) -> None:
        self.asked.append(("send", run))

    def keyboard(self, run: str) -> None:
        self.asked.append(("keyboard", run))

    async def ring(self, text: str) -> int:
        self.asked.append(("ring", text))
        return 1

    async def screen(self, run: str, history: int = 0) -> list[str]:
        if all(session.run != run for session in self._sessions):
            raise NotFoundError("the agent does not run")
        return [f"screen of {run}"]

    async def screens(self, runs: Sequence[str]) -> dict[str, Screen]:
        known = {session.run for session in self._sessions}
        return {run: Screen([f"screen of {run}"], "its title") for run in runs if run in known}

    async def calm(self, runs: Sequence[str]) -> None:
        self.asked.append(("calm", list(runs)))

    def unwatch(self, runs: Sequence[str]) -> None:
        self.asked.append(("unwatch", list(runs)))

    async def exits(self, runs: Sequence[str]) -> dict[str, ExitStatus]:
        return {run: ExitStatus(code=0 if self._terminal else 1) for run in runs}

    def guests(self, runs: Sequence[str]) -> list[int]:
        return [2] if self._terminal else []

    async def remove(self, runs: Sequence[str]) -> None:
        self.asked.append(("remove", list(runs)))

    async def end_server(self, *, answers: bool) -> None:
        self.asked.append(("end", answers))

    async def last_key(self) -> float | None:
        return None

    async def attach_command(self, run: str, *, read_only: bool) -> list[str]:
        return ["attach", run]

    def close(self) -> None:
        self.asked.append("close")


def order(run: str) -> SessionOrder:
    return SessionOrder(agent=run[0], run=run, launch_file="/x")


def test_an_order_goes_to_its_kind_and_what_came_of_it_is_found_by_run() -> None:
    async def scenario() -> None:
        tmux, plain = Kind(terminal=True), Kind(terminal=False)
        both = Runtimes(with_terminals(tmux), plain)
        outcomes = await both.start([order(OF_TMUX)], terminal=True)
        outcomes |= await both.start([order(PLAIN)], terminal=False)
        assert (tmux.asked, plain.asked) == ([[OF_TMUX]], [[PLAIN]])
        assert {run: isinstance(outcome, Session) for run, outcome in outcomes.items()} == {OF_TMUX: True, PLAIN: True}
        assert (both.has_terminal(OF_TMUX), both.has_terminal(PLAIN)) == (True, False)

    asyncio.run(scenario())


def test_tmux_is_not_asked_for_anything_by_those_who_have_no_terminal() -> None:
    async def scenario() -> None:
        tmux, plain = Kind(terminal=True, presence="absent"), Kind(terminal=False)
        both = Runtimes(with_terminals(tmux), plain)
        await both.start([order(PLAIN)], terminal=False)
        await both.find_programs([])
        await both.send(PLAIN, "hello", enter=True, pause=0, last=False)
        both.unwatch([PLAIN])
        assert both.guests([PLAIN]) == []
        assert await both.exits([PLAIN]) == {PLAIN: ExitStatus(code=1)}
        await both.remove([PLAIN])
        assert tmux.asked == []

    asyncio.run(scenario())


def test_one_that_an_earlier_keeper_started_is_looked_for() -> None:
    async def scenario() -> None:
        both = Runtimes(with_terminals(Kind(terminal=True, sessions=[OF_TMUX])), Kind(terminal=False, sessions=[PLAIN]))
        assert await both.screen(PLAIN) == [f"screen of {PLAIN}"]
        assert await both.screen(OF_TMUX) == [f"screen of {OF_TMUX}"]
        assert await both.screens([OF_TMUX, PLAIN]) == {OF_TMUX: Screen([f"screen of {OF_TMUX}"], "its title")}
        with pytest.raises(NotFoundError):
            await both.screen("cccccccccccc")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("tmux", "plain", "team", "seen"),
    [
        ("present", "present", "present", [OF_TMUX, PLAIN]),
        ("present", "absent", "present", [OF_TMUX]),
        ("absent", "present", "present", [PLAIN]),
        ("absent", "absent", "absent", []),
        ("unknown", "present", "unknown", [PLAIN]),
        ("present", "unknown", "unknown", [OF_TMUX]),
        ("absent", "unknown", "unknown", []),
    ],
)
def test_each_kind_is_seen_for_itself(tmux: Presence, plain: Presence, team: Presence, seen: list[str]) -> None:
    async def scenario() -> None:
        both = Runtimes(
            with_terminals(Kind(terminal=True, sessions=[OF_TMUX], presence=tmux)),
            Kind(terminal=False, sessions=[PLAIN], presence=plain),
        )
        views = await both.view()
        assert views.presence == team
        assert [session.run for session in views.sessions] == seen
        assert views.terminals.why == f"it is {tmux}"

    asyncio.run(scenario())


def test_at_the_end_a_silent_server_is_not_asked_first() -> None:
    async def scenario() -> None:
        tmux, plain = Kind(terminal=True, presence="unknown"), Kind(terminal=False)
        both = Runtimes(with_terminals(tmux), plain)
        await both.end(await both.view())
        assert (tmux.asked, plain.asked) == ([("end", False)], [("end", True)])

    asyncio.run(scenario())
