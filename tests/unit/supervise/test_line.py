"""The line of agents that wait to be started, over a host whose memory the test has in its hands."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain import lifecycle, states
from corral.domain.admission_rules import AdmissionRules
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.limits import Limits
from corral.domain.records import SUPERVISOR, Agent, Place, Who
from corral.domain.supervision import Supervision
from corral.ports.memory import HostMemory
from corral.supervise import line as module
from corral.supervise.keepers import Keepers
from corral.supervise.line import Line
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM

BEN = Who(user="ben", uid=1001)


@dataclass
class Host:
    """How short it is of memory, what a keeper says, and what was given to it."""

    pressure: float | None = None
    looks: int = 0
    free: dict[str, float] = field(default_factory=dict)
    kept: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Set whenever somebody looked, or was started.
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def hello(self) -> "Host":
        return self

    def look(self) -> float | None:
        self.looks += 1
        self.news.set()
        return self.pressure

    async def host_memory(self, _teams: list[str]) -> HostMemory:
        return HostMemory(free=self.free)

    async def keep_environments(self, _team: str, environments: dict[str, dict[str, str]]) -> None:
        self.kept |= environments


class Scene:
    """A team, its line, and a supervisor that notes whom it was told to start."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.host = Host()
        self.locks: dict[str, asyncio.Lock] = {}
        self.started: list[tuple[str, Who]] = []
        #: Users whose keepers do not answer, and those that were asked for.
        self.silent: set[str] = set()
        self.asked: list[str] = []
        self.line = self.another()

    def another(self, *, shared: bool = False) -> Line:
        async def connect(user: str, *_: object) -> Any:
            self.asked.append(user)
            if user in self.silent:
                raise UnavailableError(f"the keeper of {user} is silent", "")
            return self.host

        keepers = Keepers(self.registry, connect, lambda _: None, lambda *_: None, shared=shared)
        return Line(self.registry, keepers, self.lock, self._start, lambda: 100.0, self.host.look)

    def lock(self, team: str) -> asyncio.Lock:
        return self.locks.setdefault(team, asyncio.Lock())

    async def declare(self, *names: str, **rules: int) -> None:
        team = replace(TEAM, supervision=Supervision(admission=AdmissionRules(**rules)))
        agents = [replace(AGENT, name=name, state=states.PENDING, position=at) for at, name in enumerate(names)]
        await self.registry.commit(PERSON, teams=[team], agents=agents)

    async def request(self, *names: str, who: Who = PERSON) -> None:
        async with self.lock("shop"):
            await self.line.request("shop", names, who, {name: {"OF": name} for name in names})

    async def ended(self, name: str) -> None:
        await self.registry.observe([replace(self.agent(name), state=states.STOPPED)], ())

    async def next_after(self, name: str) -> None:
        """An agent ends, and somebody is started in its place."""
        known = len(self.started)
        await self.ended(name)
        await self.when(lambda: len(self.started) > known)

    def agent(self, name: str) -> Agent:
        return self.registry.agents["shop", name]

    def names(self) -> list[str]:
        return [name for name, _ in self.started]

    async def until(self, *names: str) -> None:
        await self.when(lambda: self.names() == list(names))

    async def when(self, predicate: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not predicate():
                self.host.news.clear()
                await self.host.news.wait()

    async def _start(
        self, team: str, names: Sequence[str], who: Who, environments: Mapping[str, dict[str, str]] | None
    ) -> list[str]:
        for name in names:
            if environments is None and name not in self.host.kept:
                raise CorralError(f"{name} has no environment")
            self.started.append((name, who))
        running = [
            replace(self.agent(name), state=states.RUNNING, place=None, ready=True, asked_by=who.user) for name in names
        ]
        assert {agent.team for agent in running} == {team}
        await self.registry.observe(running, ())
        self.host.news.set()
        return []


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MEMORY_SECONDS", 0.05)


def play(directory: Path, scenario: Callable[[Scene], Coroutine[None, None, None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        scene = Scene(Registry(store, lambda: 100.0, str(directory / "at-rest")))
        try:
            await scenario(scene)
        finally:
            scene.line.end()
            await store.close()

    asyncio.run(run())


def test_who_waits_for_memory_starts_one_by_one_once_there_is_some(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("a", "b", "c", memory_pressure=20)
        scene.host.pressure = 35.0
        scene.line.begin()
        await scene.request("a", "b", "c")
        assert scene.started == []
        assert "35 % of the last ten seconds" in scene.agent("a").reason
        assert scene.host.kept == {name: {"OF": name} for name in "abc"}
        looks = scene.host.looks
        await scene.when(lambda: scene.host.looks >= looks + 2)
        assert scene.started == [], "it is looked at again, and nothing has changed"
        scene.host.pressure = 0.0
        await scene.until("a")
        await scene.until("a", "b")
        await scene.until("a", "b", "c")
        assert {who for _, who in scene.started} == {PERSON}

    play(tmp_path, scenario)


def test_people_take_turns(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("run", "a1", "a2", "a3", "b1", max_agents=1, memory_pressure=0)
        scene.line.begin()
        await scene.request("run")
        await scene.request("a1", "a2", "a3")
        await scene.request("b1", who=BEN)
        order = ["run"]
        for _ in range(4):
            await scene.next_after(order[-1])
            order = scene.names()
        assert order == ["run", "a1", "b1", "a2", "a3"]

    play(tmp_path, scenario)


def test_the_next_daemon_goes_on_with_the_line(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("run", "a1", "a2", max_agents=1, memory_pressure=0)
        scene.line.begin()
        await scene.request("run")
        await scene.request("a1", "a2")
        scene.line.end()
        await scene.registry.load()
        assert scene.agent("a1").place is not None
        scene.line = scene.another()
        scene.line.begin()
        await scene.ended("run")
        await scene.until("run", "a1")
        assert scene.agent("a2").state == states.PENDING

    play(tmp_path, scenario)


def test_a_restart_by_policy_waits_by_the_turn_of_whoever_started_it(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("a", "b", max_agents=1, memory_pressure=0)
        scene.line.begin()
        await scene.request("a")
        await scene.request("b", who=BEN)
        scene.host.kept["a"] = {}
        await scene.registry.observe([replace(scene.agent("a"), state=states.BACKOFF)], ())
        await scene.until("a", "b")
        async with scene.lock("shop"):
            await scene.line.request("shop", ["a"], SUPERVISOR)
        assert scene.agent("a").state == states.PENDING
        assert scene.agent("a").asked_by == PERSON.user
        await scene.ended("b")
        await scene.until("a", "b", "a")
        assert scene.started[-1][1] is SUPERVISOR

    play(tmp_path, scenario)


def test_who_asks_again_keeps_the_place(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("run", "a", "b", max_agents=1, memory_pressure=0)
        scene.line.begin()
        await scene.request("run")
        await scene.request("a")
        await scene.request("b")
        before = scene.agent("a").place
        await scene.request("a")
        assert scene.agent("a").place == before
        await scene.ended("run")
        await scene.until("run", "a")

    play(tmp_path, scenario)


def test_whoever_was_stopped_is_out_of_line(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("run", "a", "b", max_agents=1, memory_pressure=0)
        scene.line.begin()
        await scene.request("run")
        await scene.request("a", "b")
        await scene.ended("a")
        await scene.ended("run")
        await scene.until("run", "b")

    play(tmp_path, scenario)


def test_how_the_last_run_ended_is_told_whatever_it_waits_for_now(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("a", memory_pressure=20)
        scene.host.pressure = 35.0
        scene.line.begin()
        failed = replace(scene.agent("a"), state=states.RUNNING, restart="on-failure")
        await scene.registry.observe([lifecycle.exited(failed, 1, None, "exit 1", 90.0)], ())
        await scene.request("a", who=SUPERVISOR)
        assert "35 %" in scene.agent("a").reason
        assert scene.agent("a").reason.endswith("; its last run: exit 1")
        scene.host.pressure = 45.0
        await scene.when(lambda: "45 %" in scene.agent("a").reason)
        assert scene.agent("a").reason.endswith("; its last run: exit 1")
        await scene.registry.load()
        assert scene.agent("a").reason.endswith("; its last run: exit 1"), "also for the next daemon"

    play(tmp_path, scenario)


_LIMITED = replace(
    TEAM,
    supervision=Supervision(admission=AdmissionRules(memory_headroom=10, memory_pressure=20)),
    limits=Limits(memory_max=1 << 30),
)


def _pending(team: str, name: str = "a", who: Who = BEN) -> Agent:
    return replace(AGENT, team=team, name=name, state=states.PENDING, place=Place(turn=1, since=0.0, who=who))


def test_what_somebody_elses_keeper_says_or_does_not_say_keeps_nobody_waiting(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.registry.commit(
            PERSON,
            teams=[replace(_LIMITED, user="ann"), replace(_LIMITED, name="mill", user="ben")],
            agents=[*(replace(AGENT, name=name, state=states.PENDING) for name in "abc"), _pending("mill")],
        )
        scene.line = scene.another(shared=True)
        scene.host.free = {"mill": 0.0}
        scene.line.begin()
        await scene.when(lambda: "0 % of the team's limit" in scene.registry.agents["mill", "a"].reason)
        assert scene.asked == ["ben"]
        await scene.request("a", "b")
        assert scene.names() == ["a", "b"], "whose memory is short is somebody else"
        scene.line.end()
        scene.silent = {"ben"}
        scene.line = scene.another(shared=True)
        scene.asked = []
        await scene.request("c")
        assert scene.names() == ["a", "b", "c"]
        assert scene.asked[0] == "ann", "and nobody waited for anybody else's keeper"
        scene.silent = {"ann"}
        scene.line = scene.another(shared=True)
        with pytest.raises(UnavailableError, match="the keeper of ann"):
            await scene.request("a")

    play(tmp_path, scenario)


def test_a_team_that_cannot_be_started_does_not_take_the_turn_of_others(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.declare("a", "b", memory_pressure=20)
        # It has no environment, so its start fails each time.
        await scene.registry.commit(PERSON, teams=[replace(_LIMITED, name="mill")], agents=[_pending("mill", "first")])
        scene.host.pressure = 35.0
        scene.line.begin()
        await scene.request("a", "b")
        assert scene.started == []
        scene.host.pressure = 0.0
        await scene.until("a", "b")

    play(tmp_path, scenario)
