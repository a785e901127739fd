"""What agents use: every agent has a line, its team as a whole has the last one."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.api import answers
from corral.domain import states
from corral.domain.errors import NotFoundError
from corral.domain.records import Agent, Team, Who
from corral.places import Places
from corral.ports.usage import Usage
from corral.service.context import Context
from corral.service.stats import Stat, Stats, busy
from corral.supervise.registry import Registry

if TYPE_CHECKING:
    from corral.supervise.supervisor import Supervisor

_ANN = Who(user="ann", uid=1000)


def team(name: str) -> Team:
    return Team(name=name, file=f"/{name}/corral.toml", directory=f"/{name}", repo=None, created_at=0.0)


def agent(team: str, name: str, position: int = 0, state: str = states.RUNNING) -> Agent:
    return Agent(
        team=team,
        name=name,
        position=position,
        command=("sleep",),
        shell=False,
        workspace_kind="shared",
        workspace="/x",
        restart="never",
        prompt="",
        state=state,
    )


def usage(name: str, cpu: float = 1.0) -> Usage:
    return Usage(agent=name, level="process", cpu_seconds=cpu, memory_current=4096, tasks=1)


class Host:
    """A supervisor and the keeper behind it, whose agents use a second of a processor between two looks."""

    def __init__(self) -> None:
        self.keepers = self
        self.shared = False
        self.looks = 0

    def of(self, _: str, __: Collection[str] = ()) -> "Host":
        return self

    async def open(self) -> "Host":
        return self

    async def usage(self, team: str) -> list[Usage]:
        self.looks += 1
        return [usage("a", self.looks), usage("", self.looks)] if team == "shop" else []


def play(directory: Path, act: Callable[[Stats, Registry, Host], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
        host = Host()
        places = Places(str(directory), str(directory))
        supervisor = cast("Supervisor", host)
        context = Context(registry=registry, supervisor=supervisor, store=store, places=places, now=lambda: 5.0)
        try:
            await asyncio.wait_for(act(Stats(context), registry, host), 30)
        finally:
            await store.close()

    asyncio.run(run())


async def up(registry: Registry) -> None:
    agents = [agent("shop", "b", 1, states.STOPPED), agent("shop", "a"), agent("art", "z")]
    await registry.commit(_ANN, teams=[team("shop"), team("art")], agents=agents)


def told(look: list[Stat]) -> list[tuple[str, str, bool]]:
    return [(stat.team, stat.agent.name if stat.agent else "", stat.usage is not None) for stat in look]


def test_every_agent_has_a_line_and_every_team_one_behind_its_agents(tmp_path: Path) -> None:
    async def act(stats: Stats, registry: Registry, _: Host) -> None:
        await up(registry)
        (look,) = [look async for look in stats.read(team="", names=[], every=None)]
        assert told(look) == [
            ("art", "z", False),
            ("art", "", False),
            ("shop", "a", True),
            ("shop", "b", False),
            ("shop", "", True),
        ]

    play(tmp_path, act)


def test_of_named_agents_nothing_else_is_told(tmp_path: Path) -> None:
    async def act(stats: Stats, registry: Registry, _: Host) -> None:
        await up(registry)
        (look,) = [look async for look in stats.read(team="shop", names=["b"], every=None)]
        assert told(look) == [("shop", "b", False)]

    play(tmp_path, act)


def test_a_percentage_is_there_from_the_first_line_on(tmp_path: Path) -> None:
    async def act(stats: Stats, registry: Registry, host: Host) -> None:
        await up(registry)
        looks = stats.read(team="shop", names=["a"], every=0.01)
        (first,), (second,) = [await anext(looks), await anext(looks)]
        assert host.looks == 3
        assert first.usage is not None
        assert first.usage.cpu_seconds == 2
        # A second of processor time in a quarter of a second, then in a hundredth: however late this machine is.
        assert 0 < (first.cpu_percent or 0) <= 400
        assert 0 < (second.cpu_percent or 0) <= 10_000

    play(tmp_path, act)


def test_with_nothing_up_nobody_is_asked(tmp_path: Path) -> None:
    async def act(stats: Stats, _: Registry, host: Host) -> None:
        assert [look async for look in stats.read(team="", names=[], every=None)] == [[]]
        assert host.looks == 0

    play(tmp_path, act)


def test_following_a_team_ends_with_it(tmp_path: Path) -> None:
    async def act(stats: Stats, registry: Registry, _: Host) -> None:
        await up(registry)
        looks = stats.read(team="shop", names=[], every=0.01)
        await anext(looks)
        await registry.commit(_ANN, drop_teams=["shop"])
        with pytest.raises(NotFoundError, match="no team shop is up"):
            await anext(looks)

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("cpu_seconds", "seconds", "percent"), [(0.0, 2.0, 0.0), (1.0, 2.0, 50.0), (3.0, 2.0, 150.0), (-0.5, 2.0, None)]
)
def test_busy_is_a_part_of_one_processor(cpu_seconds: float, seconds: float, percent: float | None) -> None:
    assert busy(cpu_seconds, seconds) == percent


def test_what_is_not_known_is_null() -> None:
    stat = Stat(team="shop", agent=agent("shop", "b", state=states.STOPPED), time=0.0, usage=None, cpu_percent=None)
    (told,) = cast("list[dict[str, object]]", answers.stats([stat])["stats"])
    assert {name for name, value in told.items() if value is None} == {
        "cpu_percent",
        "cpu_seconds",
        "memory_current",
        "memory_peak",
        "memory_limit",
        "tasks",
        "tasks_limit",
        "pressure",
        "oom_kills",
    }
    assert (told["containment"], told["cgroup"], told["paused"]) == ("none", "", False)
