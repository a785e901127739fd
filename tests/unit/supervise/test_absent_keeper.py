"""A team of several users, and the keeper of one is not there: the agents of the others are as they are."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain import states
from corral.domain.errors import UnavailableError
from corral.ports.casts import RecordingOrder
from corral.ports.keeper import PROTOCOL, Hello, Keeper
from corral.ports.output import TerminalShown
from corral.ports.runs import Ended, Inventory, Run
from corral.service.agents import Agents
from corral.service.context import Context
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, PERSON, TEAM

TEAM_OF_TWO = replace(TEAM, user="ann", agent_users=("bot",))
OWN = replace(AGENT, name="a", run="r-a", state=states.RUNNING, pid=1)
BOTS = replace(AGENT, name="b", run="r-b", state=states.RUNNING, pid=2, run_as="bot", position=1)


class OneKeeper:
    """Sees both runs, whosever they are, and notes what it is told to end."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def hello(self) -> Hello:
        return Hello(
            protocol=PROTOCOL,
            version="1",
            instance="i",
            pid=1,
            host="h",
            user="ann",
            boot_id="b",
            containment="systemd",
        )

    async def record(self, _team: str, _order: RecordingOrder) -> None:
        return None

    async def inventory(self, team: str) -> Inventory:
        runs = [Run(agent=one.name, run=one.run, alive="present", pid=one.pid) for one in (OWN, BOTS)]
        return Inventory(team=team, server="present", runs=runs)

    async def real_paths(self, directory: str, paths: list[str]) -> list[str]:
        return [directory, *paths]

    async def screen(self, team: str, run: str) -> TerminalShown:
        return TerminalShown(lines=[run], title="")

    async def stop(self, team: str, runs: dict[str, str], grace: float, *, spare: bool) -> Ended:
        self.ended += runs
        return Ended(gone=list(runs))


class Scene:
    def __init__(self, registry: Registry, store: SqliteStore) -> None:
        self.registry, self.keeper = registry, OneKeeper()
        self.asked: list[str] = []

        async def connect(user: str, *_: object) -> Keeper:
            self.asked.append(user)
            if user != "ann":
                raise UnavailableError(f"the keeper of {user} cannot be started now", "look")
            return cast("Keeper", self.keeper)

        self.supervisor = Supervisor(registry, connect, lambda: 5.0, shared=True)
        context: Any = Context(
            registry=registry, supervisor=self.supervisor, store=store, places=cast("Any", None), now=lambda: 5.0
        )
        self.agents = Agents(context, cast("Any", None))

    def state(self, name: str) -> tuple[str, str]:
        agent = self.registry.agent(TEAM.name, name)
        return agent.state, agent.reason


def play(directory: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
        try:
            await registry.commit(PERSON, teams=[TEAM_OF_TWO], agents=[OWN, BOTS])
            await asyncio.wait_for(act(Scene(registry, store)), 30)
        finally:
            await store.close()

    asyncio.run(run())


def test_what_it_would_tell_is_not_known_and_no_more_than_that(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.registry.processes = {(TEAM.name, "a"): 1, (TEAM.name, "b"): 2}
        await scene.supervisor.reconcile(TEAM.name)
        assert scene.state("a") == (states.RUNNING, "")
        state, why = scene.state("b")
        assert (state, "the keeper of bot cannot be started now" in why) == (states.UNKNOWN, True)
        assert scene.registry.processes == {(TEAM.name, "b"): 2}, "what was known of it still is"

    play(tmp_path, act)


def test_the_others_are_read_and_ended_without_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.agents.screen(scene.registry.agent(TEAM.name, "a"))).lines == ["r-a"]
        done = await scene.agents.stop(PERSON, TEAM.name, ["a"], grace=0.0, tell=lambda _: None)
        assert [(one.agent, one.state) for one in done] == [("a", states.STOPPED)]
        assert (scene.keeper.ended, set(scene.asked)) == (["r-a"], {"ann"})

    play(tmp_path, act)


@pytest.mark.parametrize("names", [["b"], ["a", "b"]])
def test_what_concerns_its_own_waits_for_it(tmp_path: Path, names: list[str]) -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(UnavailableError, match="the keeper of bot cannot be started now"):
            await scene.agents.stop(PERSON, TEAM.name, names, grace=0.0, tell=lambda _: None)
        with pytest.raises(UnavailableError, match="the keeper of bot cannot be started now"):
            await scene.agents.screen(scene.registry.agent(TEAM.name, "b"))
        assert scene.keeper.ended == []

    play(tmp_path, act)


def test_what_is_the_teams_own_needs_its_own_keeper_alone(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        insist_at, link = scene.supervisor.insist_at, scene.supervisor.keepers
        for directory in ("", TEAM.directory):
            assert await insist_at(TEAM.name, lambda keeper: keeper.real_paths("/r", ["x"]), directory)
        assert set(scene.asked) == {"ann"}
        own = replace(BOTS, workspace="/srv/bot", workspace_kind="worktree")
        await scene.registry.commit(PERSON, agents=[own])
        assert link.at(TEAM.name, "/srv/bot") is link.of_agent(own)
        await scene.registry.commit(PERSON, agents=[replace(own, workspace_kind="shared")])
        assert link.at(TEAM.name, "/srv/bot") is link.of_agent(OWN), "the checkout that a team shares is its own user's"
        assert link.at(TEAM.name) is link.of_agent(OWN)

    play(tmp_path, act)


def test_a_team_of_which_nobody_answers_is_not_known(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(UnavailableError):
            await scene.supervisor.reconcile(TEAM.name, ["b"])

    play(tmp_path, act)
