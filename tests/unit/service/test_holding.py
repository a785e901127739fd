"""Pausing and resuming: what is written before, what after, and what is left if it does not work."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain import states
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.records import PROMPT_HELD, PROMPT_SENDING, PROMPT_SENT, PROMPT_WAITING, Agent
from corral.places import Places
from corral.ports.runs import ReadyOrder
from corral.service.context import Context
from corral.service.holding import AgentHeld, Holding
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM

if TYPE_CHECKING:
    from corral.ports.keeper import Keeper
    from corral.supervise.supervisor import Supervisor

_T = TypeVar("_T")


class Host:
    """A supervisor and the keeper behind it, as far as holding needs them. Remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuse: dict[bool, CorralError] = {}
        self.at_freeze: Callable[[], None] = lambda: None
        self.keepers = self
        self._lock = asyncio.Lock()

    def lock(self, _: str) -> asyncio.Lock:
        return self._lock

    async def be_certain(self, _: str, __: Collection[str] = ()) -> None:
        assert self._lock.locked()

    def of(self, _: str, __: Collection[str] = ()) -> "Host":
        return self

    def of_agent(self, _: Agent) -> "Host":
        return self

    async def open(self) -> "Host":
        return self

    async def insist(self, _: str, act: "Callable[[Keeper], Awaitable[_T]]", __: Collection[str] = ()) -> _T:
        return await act(cast("Keeper", self))

    async def freeze(self, team: str, runs: Sequence[str], *, frozen: bool) -> None:
        assert self._lock.locked()
        self.at_freeze()
        self.asked.append(f"{'freeze' if frozen else 'thaw'} {team} {' '.join(runs)}")
        if frozen in self.refuse:
            raise self.refuse[frozen]

    async def watch_ready(self, _: str, order: ReadyOrder) -> None:
        self.asked.append(f"watch {order.run}")


class Scene:
    """Some agents, and what becomes of them."""

    def __init__(self, registry: Registry, store: SqliteStore, directory: Path) -> None:
        self.registry = registry
        self.host = Host()
        self._store = store
        places = Places(str(directory), str(directory))
        supervisor = cast("Supervisor", self.host)
        context = Context(registry=registry, supervisor=supervisor, store=store, places=places, now=lambda: 0.0)
        self.holding = Holding(context)

    def agent(self, name: str = "a") -> Agent:
        return self.registry.agent("shop", name)

    async def pause(self, *names: str, everyone: bool = False) -> list[AgentHeld]:
        return await self.holding.pause(PERSON, "shop", names or ["a"], everyone=everyone, tell=lambda _: None)

    async def resume(self, *names: str, everyone: bool = False) -> list[AgentHeld]:
        return await self.holding.resume(PERSON, "shop", names or ["a"], everyone=everyone, tell=lambda _: None)

    async def journal(self) -> list[tuple[str, str, str]]:
        return [(event.event, event.who.user, event.outcome) for event in await self._store.events()]


def play(directory: Path, act: Callable[[Scene], Awaitable[None]], *agents: Agent) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
        try:
            await registry.commit(PERSON, teams=[TEAM], agents=agents or [AGENT])
            await asyncio.wait_for(act(Scene(registry, store, directory)), 30)
        finally:
            await store.close()

    asyncio.run(run())


def test_whenever_an_agent_may_stand_still_its_record_says_so(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        seen: list[bool] = []
        scene.host.at_freeze = lambda: seen.append(scene.agent().paused)
        (held,) = await scene.pause()
        assert (held.state, held.paused, held.changed) == (states.RUNNING, True, True)
        (held,) = await scene.resume()
        assert (held.state, held.paused, held.changed) == (states.RUNNING, False, True)
        assert seen == [True, True]  # before it was frozen, and until after it was thawed
        assert await scene.journal() == [
            ("agent.pausing", "ann", "ok"),
            ("agent.paused", "ann", "ok"),
            ("agent.resumed", "ann", "ok"),
        ]

    play(tmp_path, act)


def test_said_twice_it_is_done_again_and_told_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.pause()
        (held,) = await scene.pause()
        assert (held.paused, held.changed) == (True, False)
        # Done again: a daemon that died half-way, or a stranger's SIGCONT, is made good by it.
        assert scene.host.asked == ["freeze shop r1", "freeze shop r1"]
        assert [event for event, *_ in await scene.journal()] == ["agent.pausing", "agent.paused"]

    play(tmp_path, act)


def test_one_that_is_not_paused_is_not_woken(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        (held,) = await scene.resume()
        assert (held.paused, held.changed) == (False, False)
        assert scene.host.asked == []

    play(tmp_path, act)


@pytest.mark.parametrize("state", sorted(set(states.ALL) - {states.RUNNING}))
def test_what_is_named_and_does_not_run_fails_before_anything_is_done(tmp_path: Path, state: str) -> None:
    async def act(scene: Scene) -> None:
        for command in (scene.pause, scene.resume):
            with pytest.raises(CorralError, match=f"b is {state}") as raised:
                await command("a", "b")
            assert (raised.value.exit_code, "corral restart b" in raised.value.remedy) == (1, True)
        assert (scene.host.asked, scene.agent().paused) == ([], False)

    play(tmp_path, act, AGENT, replace(AGENT, name="b", position=1, state=state))


def test_of_everyone_those_are_meant_that_run(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = await scene.pause("a", "b", everyone=True)
        assert (a.paused, b.paused, b.state) == (True, False, states.STOPPED)
        assert scene.host.asked == ["freeze shop r1"]

    play(tmp_path, act, AGENT, replace(AGENT, name="b", position=1, state=states.STOPPED, run="r2"))


def test_one_that_cannot_be_frozen_runs_as_before(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.host.refuse[True] = CorralError("a did not stand still")
        with pytest.raises(CorralError, match="did not stand still"):
            await scene.pause()
        assert scene.host.asked == ["freeze shop r1", "thaw shop r1", "watch r1"]
        assert (scene.agent().paused, scene.agent().prompt_state) == (False, PROMPT_WAITING)
        assert (await scene.journal())[-1] == ("agent.paused", "ann", "failed")

    play(tmp_path, act, replace(AGENT, prompt_state=PROMPT_WAITING))


def test_one_of_which_nobody_knows_counts_as_paused(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.host.refuse = dict.fromkeys((True, False), UnavailableError("no answer"))
        with pytest.raises(UnavailableError):
            await scene.pause()
        assert scene.agent().paused
        with pytest.raises(UnavailableError):
            await scene.resume()
        assert scene.agent().paused
        assert [outcome for *_, outcome in await scene.journal()] == ["ok", "unknown", "unknown"]

    play(tmp_path, act)


def test_a_first_prompt_is_held_back_until_the_agent_goes_on(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.pause()
        assert scene.agent().prompt_state == PROMPT_HELD
        await scene.resume()
        assert scene.agent().prompt_state == PROMPT_WAITING
        assert scene.host.asked[-1] == "watch r1"

    play(tmp_path, act, replace(AGENT, prompt_state=PROMPT_WAITING))


def test_a_prompt_that_is_half_said_is_let_out_first(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        pausing = asyncio.ensure_future(scene.pause())
        await scene.registry.journal_growth()
        assert (scene.agent().paused, scene.host.asked) == (True, [])
        await scene.registry.observe([replace(scene.agent(), prompt_state=PROMPT_SENT)], [])
        await pausing
        assert scene.host.asked == ["freeze shop r1"]
        assert (scene.agent().paused, scene.agent().prompt_state) == (True, PROMPT_SENT)

    play(tmp_path, act, replace(AGENT, prompt_state=PROMPT_SENDING))
