"""A person has so many agents and no more, however many teams they are in, and whoever makes how many at once."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from corral.domain import shares
from corral.domain.errors import RefusedError
from corral.service.agent_room import AgentRoom
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.api.scene import Scene, play
from tests.unit.service.test_ledger import opened

TEAMS = [replace(TEAM, name=name, user=user) for name, user in (("shop", "ann"), ("mill", "ben"), ("mill-2", "ben"))]
AGENTS = [replace(AGENT, team=team, name=name) for team, name in (("mill", "a"), ("mill-2", "a"), ("mill-2", "b"))]


@pytest.fixture(autouse=True)
def _five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "AGENTS", 5)


async def registry_at(directory: Path) -> Registry:
    disk = await opened(directory)
    registry = Registry(disk, lambda: 0.0, str(directory / "at-rest"))
    await registry.commit(PERSON, teams=TEAMS, agents=AGENTS)
    await disk.close()
    return registry


def test_agents_of_all_teams_of_a_person_count(tmp_path: Path) -> None:
    registry = asyncio.run(registry_at(tmp_path))
    room = AgentRoom(registry, str)
    room.check("ben", "mill-3", ["x", "y"])
    room.check("ben", "mill", ["a", "x", "y"])  # the one that is there is no more
    with pytest.raises(
        RefusedError, match="teams of ben have 3 agents, and may have 5 on this host: there is no room for 3 more"
    ):
        room.check("ben", "mill-3", ["x", "y", "z"])
    room.check("eve", "eves", ["a", "b", "c", "d", "e"])
    with pytest.raises(RefusedError):
        room.check("eve", "eves", ["a", "b", "c", "d", "e", "f"])
    # A team without agents counts as one.
    room.check("ann", "anns", ["a", "b", "c", "d"])
    room.check("ann", "shop", ["a", "b", "c", "d", "e"])
    with pytest.raises(RefusedError, match="have 1 agents"):
        room.check("ann", "anns", ["a", "b", "c", "d", "e"])
    # Where all is one person's there is no such bound.
    AgentRoom(registry).check("ben", "mill-3", [f"x{number}" for number in range(100)])


def test_agents_that_are_being_made_count_once(tmp_path: Path) -> None:
    registry = asyncio.run(registry_at(tmp_path))
    room = AgentRoom(registry, str)
    with room.taken("ben", "mill-3", ["x", "a"]):
        with pytest.raises(RefusedError, match="have 5 agents"), room.taken("ben", "mill-4", ["x"]):
            raise AssertionError
        room.check("ben", "mill-3", ["x"])
        room.check("ann", "shop", ["x"])
        registry.agents["mill-3", "x"] = replace(AGENT, team="mill-3", name="x")
        room.check("ben", "mill", ["a"])
    with room.taken("ben", "mill-4", ["x", "y"]), pytest.raises(RefusedError):
        room.check("ben", "mill-4", ["z"])


def test_up_and_fork_of_more_are_refused_and_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[team]\nname = "new"\n[agents.x]\ncommand = ["cat"]\nterminal = "none"\ncount = 3\n'

    async def act(scene: Scene) -> None:
        there = len(scene.registry.agents)
        monkeypatch.setattr(shares, "AGENTS", there + 2)
        up, fork = scene.services.up, scene.services.fork
        up._room = fork._room = AgentRoom(scene.registry, lambda _: "ben")
        for dry in (True, False):
            body = {"file": str(tmp_path / "corral.toml"), "text": text, "dry_run": dry}
            reply = await scene.ask("POST", "/v1/up", body)
            assert b"no room for 3 more" in reply.body
        assert "new" not in scene.registry.teams
        monkeypatch.setattr(shares, "AGENTS", there)
        reply = await scene.ask("POST", "/v1/fork", {"team": "shop", "agent": "a", "name": "c"})
        assert b"no room for 1 more" in reply.body
        assert len(scene.registry.agents) == there

    play(tmp_path, act)
