"""Somebody looks while sessions are started and taken away: what a server told before that is not held against them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from corral.adapters.subprocess.processes import HostedProcesses
from corral.adapters.tmux import arrangement
from corral.ports.runs import ExitStatus
from tests.conformance.runtime.stage import TMUX, Stage, only


class HeldBack:
    """What the server answers to whoever looks next is held back, from `said` until `let_go`."""

    def __init__(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said, self.let_go = asyncio.Event(), asyncio.Event()
        if stage.kind == TMUX:
            monkeypatch.setattr(arrangement, "census", self._once(arrangement.census))
        else:
            monkeypatch.setattr(HostedProcesses, "table", self._once(HostedProcesses.table))

    def _once(self, look: Callable[[Any], Awaitable[object]]) -> Callable[[Any], Awaitable[object]]:
        async def held_back(server: Any) -> object:
            answer = await look(server)
            if not self.said.is_set():
                self.said.set()
                await self.let_go.wait()
            return answer

        return held_back


def test_one_that_is_started_meanwhile_is_not_taken_for_gone(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        first = await keeper.start("exec sleep 60")
        answer = HeldBack(stage, monkeypatch)
        look = asyncio.create_task(keeper.runtime.view())
        await answer.said.wait()
        second = await keeper.start("read line; echo heard $line; exit 3", agent="b")
        answer.let_go.set()
        assert {session.run for session in (await look).sessions} == {first.run, second.run}
        await keeper.runtime.send(second.run, "me", enter=True, pause=0)
        assert await keeper.end_of(second) == ExitStatus(code=3)
        assert "heard me" in stage.lines(second.run)

    stage.play(scenario)


def test_one_that_is_taken_away_meanwhile_is_not_found_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exit 0")
        await keeper.end_of(session)
        answer = HeldBack(stage, monkeypatch)
        look = asyncio.create_task(keeper.runtime.view())
        await answer.said.wait()
        await keeper.runtime.remove([session.run])
        answer.let_go.set()
        assert (await look).sessions == ()

    stage.play(scenario)


@only(TMUX)
@pytest.mark.parametrize("fails", [False, True], ids=["it comes to its end", "it is given up"])
def test_a_keeper_that_has_just_come_starts_nothing_before_it_knows_what_is_there(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    async def scenario() -> None:
        order = stage.order("exec sleep 60")
        (session,) = await stage.keeper().start_all([order])
        answer = HeldBack(stage, monkeypatch)
        newcomer = stage.keeper()
        look = asyncio.create_task(newcomer.runtime.view())
        await answer.said.wait()
        start = asyncio.create_task(newcomer.start_all([order]))
        _, waits = await asyncio.wait([start], timeout=0.3)
        assert waits == {start}
        if fails:
            look.cancel()  # then whoever waited looks first
        else:
            answer.let_go.set()
        (again,) = await start
        assert again.terminal_pid == session.terminal_pid

    stage.play(scenario)
