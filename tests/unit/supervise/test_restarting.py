"""Restarts that are still to come: at their time, once, and not if somebody says otherwise."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from corral.domain import lifecycle, states
from corral.domain.records import Agent
from corral.domain.restarts import RestartLimits
from corral.domain.upkeep import Upkeep
from corral.supervise.restarting import Restarting
from tests.support import records

#: Waits for half a second at most.
AGENT = replace(
    records.AGENT,
    state=states.BACKOFF,
    run="r1",
    crashes=1,
    since=1000.0,
    upkeep=Upkeep(restarts=RestartLimits(delay=0.5)),
)
LONG = replace(AGENT, upkeep=Upkeep(restarts=RestartLimits(delay=3600.0, longest=3600.0)))


class Scene:
    def __init__(self, now: float) -> None:
        self.now = now
        self.started: list[str] = []
        self.one_started = asyncio.Event()
        self.restarting = Restarting(lambda: self.now, self._restart)

    async def _restart(self, agent: Agent) -> None:
        self.started.append(agent.run)
        self.one_started.set()


def play(act: Callable[[Scene], Awaitable[None]], now: float = 1000.0) -> None:
    async def run() -> None:
        scene = Scene(now)
        try:
            await asyncio.wait_for(act(scene), 30)
        finally:
            scene.restarting.end()

    asyncio.run(run())


def test_it_is_started_when_its_pause_is_over_however_often_that_is_planned() -> None:
    async def act(scene: Scene) -> None:
        for _ in range(5):
            scene.restarting.plan(AGENT)
        await scene.one_started.wait()
        await asyncio.sleep(0)
        assert scene.started == ["r1"]

    play(act)


def test_a_daemon_that_comes_late_starts_it_at_once() -> None:
    async def act(scene: Scene) -> None:
        scene.restarting.plan(LONG)
        await scene.one_started.wait()

    play(act, now=1000.0 + lifecycle.restart_pause(LONG))


def test_one_that_was_cancelled_is_not_started() -> None:
    async def act(scene: Scene) -> None:
        scene.restarting.plan(replace(AGENT, name="b", run="r2"))
        scene.restarting.plan(AGENT)
        scene.restarting.cancel((AGENT.team, "b"))
        await scene.one_started.wait()
        assert scene.started == ["r1"]

    play(act)


def test_planning_again_waits_for_the_rest_and_not_for_the_whole() -> None:
    async def act(scene: Scene) -> None:
        scene.restarting.plan(LONG)
        scene.now += lifecycle.restart_pause(LONG)
        scene.restarting.plan(LONG)
        await scene.one_started.wait()

    play(act)
