"""Whose keeper is asked, and what a keeper is believed about."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.recording import NO_TERMS, Recording
from corral.domain.records import Team
from corral.ports.casts import RecordingOrder
from corral.ports.reports import Degraded, Report, ServerChanged
from corral.supervise.keepers import Keepers
from corral.supervise.recording import RecordingOrders
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM

ANNS = replace(TEAM, name="shop", user="ann")
BENS = replace(TEAM, name="mill", user="ben")


class Keeper:
    """One that only says whose it is."""

    def __init__(self, user: str, tell: Callable[[Report], None], go: Callable[[], None]) -> None:
        self.user, self.tell, self.go = user, tell, go
        self.recorded: list[tuple[str, bool]] = []

    async def hello(self) -> "Keeper":
        return self

    async def record(self, team: str, order: RecordingOrder) -> None:
        self.recorded.append((team, order.on))


class Scene:
    """Keepers that are made when they are asked for."""

    def __init__(self, registry: Registry, *, shared: bool) -> None:
        self.registry = registry
        self.connected: list[str] = []
        self.heard: list[str] = []
        self.lost: list[str] = []

        async def connect(user: str, tell: Callable[[Report], None], go: Callable[[], None]) -> Any:
            self.connected.append(user)
            return Keeper(user, tell, go)

        def hear(report: Report) -> None:
            self.heard.append(report.team)

        self.keepers = Keepers(registry, connect, hear, self._lost, shared=shared)

    def _lost(self, user: str, why: str) -> None:
        self.lost.append(f"{user}: {why}" if why else user)

    async def of(self, team: str) -> Any:
        return await self.keepers.of(team).open()


def play(directory: Path, act: Callable[[Scene], Awaitable[None]], *teams: Team, shared: bool = True) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
        try:
            await registry.commit(PERSON, teams=teams or [ANNS, BENS])
            await asyncio.wait_for(act(Scene(registry, shared=shared)), 30)
        finally:
            await store.close()

    asyncio.run(run())


def test_each_team_has_the_keeper_of_its_user(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        assert ((await scene.of("shop")).user, (await scene.of("mill")).user) == ("ann", "ben")
        assert await scene.of("shop") is await scene.of("shop")
        assert scene.keepers.of_user("ben") is scene.keepers.of("mill")
        assert scene.connected == ["ann", "ben"]

    play(tmp_path, scenario)


def test_the_instance_of_one_person_has_one_whatever_is_asked_for(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        everywhere = [scene.keepers.of("shop"), scene.keepers.of("nothing"), scene.keepers.of_user("ben")]
        assert len({id(link) for link in everywhere}) == 1
        await everywhere[0].open()
        assert scene.connected == [""]

    play(tmp_path, scenario, replace(TEAM, name="shop"), shared=False)


def test_a_team_that_comes_up_is_its_claimants_until_it_is_written_down(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        async with scene.keepers.claimed("new", "ben"), scene.keepers.claimed("shop", "ben"):
            assert (scene.keepers.owner("new"), scene.keepers.owner("shop")) == ("ben", "ann")
        assert scene.keepers.owner("new") == ""

    play(tmp_path, scenario)


def test_a_keeper_is_not_believed_about_teams_of_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(scene: Scene) -> None:
        keeper = await scene.of("mill")
        for team in ("mill", "shop", "nobodys"):
            keeper.tell(ServerChanged(team=team, presence="absent"))
        assert scene.heard == ["mill"]
        assert "the keeper of ben spoke of team 'shop'" in caplog.text

    play(tmp_path, scenario)


def test_one_that_is_lost_concerns_its_user_alone(tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        ann, ben = await scene.of("shop"), await scene.of("mill")
        ann.go()
        assert scene.lost == ["ann"]
        assert scene.keepers.teams_of("ann") == ["shop"]
        assert (scene.keepers.of("shop").presence, scene.keepers.of("mill").presence) == ("absent", "present")
        assert scene.keepers.presences == {"ann": "absent", "ben": "present"}
        assert scene.keepers.presences_of(["mill"]) == {"ben": "present"}, "those of one team"
        assert scene.keepers.presences_of([]) == {}
        assert scene.keepers.presence == "absent", "one that a team needs is missing"
        await scene.of("shop")
        assert scene.keepers.presence == "present"
        ben.go()
        assert scene.keepers.presence == "absent"

    play(tmp_path, scenario)


def test_a_keeper_is_told_that_nothing_is_recorded_any_more_by_a_daemon_that_never_knew_otherwise(
    tmp_path: Path,
) -> None:
    async def scenario(scene: Scene) -> None:
        keeper = await scene.of("shop")
        orders = RecordingOrders(scene.registry, NO_TERMS)
        await orders.tell(keeper, "shop", is_new=True)
        assert keeper.recorded == [], "of a team that just came up nobody said anything else"
        await orders.tell(keeper, "shop")
        await orders.tell(keeper, "shop")
        assert keeper.recorded == [("shop", False)]
        on = replace(ANNS, recording=Recording(on=True))
        await scene.registry.commit(PERSON, teams=[on])
        await orders.tell(keeper, "shop", is_new=True)
        assert keeper.recorded[1:] == [("shop", True)]

    play(tmp_path, scenario)


def test_a_team_with_users_for_its_agents_has_all_of_their_keepers(tmp_path: Path) -> None:
    team = replace(ANNS, agent_users=("bot",))
    agents = [replace(AGENT, name="a"), replace(AGENT, name="b", run_as="bot")]

    async def scenario(scene: Scene) -> None:
        await scene.registry.commit(PERSON, agents=agents)
        link = scene.keepers.of("shop")
        assert link is scene.keepers.of("shop")
        several = await link.open()
        assert scene.connected == ["ann", "bot"]
        assert several is await link.open()
        assert scene.keepers.of_agent(agents[1]) is scene.keepers.of_user("bot")
        bot: Any = scene.keepers.of_user("bot").connected
        for name in ("a", "b"):
            bot.tell(Degraded(team="shop", agent=name, why="x"))
        assert scene.heard == ["shop"], "what it says of the other's agent is not believed"
        bot.tell(ServerChanged(team="shop", presence="absent"))
        assert scene.heard == ["shop", "shop"]
        bot.go()
        assert (scene.lost, scene.keepers.teams_of("bot")) == (["bot"], ["shop"])
        assert link.connected is None
        assert await link.open() is not several

    play(tmp_path, scenario, team)
