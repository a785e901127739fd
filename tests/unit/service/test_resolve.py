"""Which team and which agents are meant, by where somebody is."""

from dataclasses import replace
from pathlib import Path

import pytest

from corral.domain.errors import WrongUseError
from corral.service.resolve import find_agent, find_team
from corral.supervise.registry import Registry
from tests.support.records import AGENT, TEAM
from tests.unit.api.scene import OTHER_TEAM, Scene, play

WORKTREES = "/home/ann/.local/state/corral/worktrees"


def two_teams(registry: Registry) -> None:
    """Both with an agent `a` in a worktree; that of shop also has `b`, which is in the directory of the team."""
    registry.teams = {team.name: team for team in (TEAM, OTHER_TEAM)}
    trees = [
        replace(AGENT, team=team, name="a", workspace_kind="worktree", workspace=f"{WORKTREES}/{team}/a")
        for team in registry.teams
    ]
    shared = replace(AGENT, name="b", workspace_kind="shared", workspace=TEAM.directory)
    registry.agents = {agent.key: agent for agent in (*trees, shared)}


@pytest.mark.parametrize(
    ("cwd", "team"),
    [
        (f"{WORKTREES}/shop/a", "shop"),
        (f"{WORKTREES}/toys/a/src/deep", "toys"),
        (f"{TEAM.directory}/src", "shop"),
        (OTHER_TEAM.directory, "toys"),
    ],
)
def test_the_worktree_of_an_agent_tells_its_team_as_the_teams_directory_does(
    tmp_path: Path, cwd: str, team: str
) -> None:
    async def act(scene: Scene) -> None:
        two_teams(scene.registry)
        assert find_team(scene.registry, cwd=cwd).name == team
        assert find_agent(scene.registry, team="", agent="a", cwd=cwd).team == team

    play(tmp_path, act)


@pytest.mark.parametrize("cwd", ["", "/", WORKTREES, f"{WORKTREES}/shop", f"{WORKTREES}/shop/ab"])
def test_elsewhere_one_must_be_named(tmp_path: Path, cwd: str) -> None:
    async def act(scene: Scene) -> None:
        two_teams(scene.registry)
        with pytest.raises(WrongUseError, match="which team"):
            find_team(scene.registry, cwd=cwd)
        with pytest.raises(WrongUseError, match="in several teams"):
            find_agent(scene.registry, team="", agent="a", cwd=cwd)

    play(tmp_path, act)


def test_a_worktree_within_the_directory_of_another_team_is_nearer(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        two_teams(scene.registry)
        inner = replace(scene.registry.agents["toys", "a"], workspace=f"{TEAM.directory}/state/worktrees/toys/a")
        scene.registry.agents[inner.key] = inner
        assert find_team(scene.registry, cwd=inner.workspace).name == "toys"
        assert find_team(scene.registry, cwd=f"{TEAM.directory}/state").name == "shop"

    play(tmp_path, act)
