"""Which team and which agents are meant, by where somebody is."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from corral.domain.errors import NotFoundError, WrongUseError
from corral.service.resolve import find_agent, find_team, find_team_to_end
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.api.deciding import Scripted, decided
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


class Of:
    """A registry as somebody sees it whose teams are these."""

    def __init__(self, registry: Registry, own: str) -> None:
        self.teams, self.agents = registry.teams, registry.agents
        self.own = {name: team for name, team in registry.teams.items() if name in own.split()}
        self.named, self.of_team, self.agent = registry.named, registry.of_team, registry.agent


SHOP, TOYS, ELSEWHERE = TEAM.directory, OTHER_TEAM.directory, "/elsewhere"
NONE = "no team is up"
NOT_UP = f"no team of {ELSEWHERE}/corral.toml is up"


@pytest.mark.parametrize(
    # up: the teams; own: those of the caller. What is meant without a name, and what `down` means: a team, or why none.
    ("up", "own", "cwd", "nearest", "meant", "to_end"),
    [
        # At the place of an own team it is that one, also if a file of another name declared it.
        ("shop", "shop", SHOP, "", "shop", "shop"),
        ("shop toys", "shop toys", f"{SHOP}/src", f"{SHOP}/corral.toml", "shop", "shop"),
        ("shop toys", "shop", SHOP, "", "shop", "shop"),
        # At the place of somebody else's team it is as anywhere.
        ("shop toys", "toys", SHOP, "", "toys", "which team"),
        ("shop toys", "", SHOP, "", "none of yours is up; of others there are: shop, toys", "none of yours"),
        # Anywhere it is the only own one, and nobody else's: but not for `down`.
        ("shop", "shop", ELSEWHERE, "", "shop", "which team\\? there are: shop"),
        ("shop toys", "toys", ELSEWHERE, "", "toys", "which team\\? there are: toys"),
        ("shop toys", "shop toys", ELSEWHERE, "", "which team\\? there are: shop, toys", "which team"),
        ("shop", "", ELSEWHERE, "", "none of yours is up; of others there are: shop", "none of yours"),
        ("", "", ELSEWHERE, "", NONE, NONE),
        # Beside the file of a team that is not up, no other is taken in its place.
        ("shop", "shop", ELSEWHERE, f"{ELSEWHERE}/corral.toml", NOT_UP, "which team"),
        ("shop toys", "toys", ELSEWHERE, f"{ELSEWHERE}/corral.toml", NOT_UP, "which team"),
        ("shop", "", ELSEWHERE, f"{ELSEWHERE}/corral.toml", NOT_UP, "none of yours"),
        ("", "", ELSEWHERE, f"{ELSEWHERE}/corral.toml", NOT_UP, NONE),
    ],
)
def test_a_team_that_is_not_named_is_an_own_one(
    tmp_path: Path, up: str, own: str, cwd: str, nearest: str, meant: str, to_end: str
) -> None:
    async def act(scene: Scene) -> None:
        scene.registry.teams = {team.name: team for team in (TEAM, OTHER_TEAM) if team.name in up.split()}
        scene.registry.agents = {}
        seen = Of(scene.registry, own)
        for find, expected in (
            (partial(find_team, seen, cwd=cwd, nearest=nearest), meant),
            (partial(find_team_to_end, seen, cwd=cwd), to_end),
        ):
            if expected in scene.registry.teams:
                assert find().name == expected
            else:
                with pytest.raises((WrongUseError, NotFoundError), match=expected):
                    find()
        for name in scene.registry.teams:  # a name is a name, whoever's it is and wherever one is
            assert find_team(seen, name=name, cwd=cwd, nearest=nearest).name == name
            assert find_team_to_end(seen, name=name, cwd=cwd).name == name

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("own", "file", "cwd", "expected"),
    [
        ("shop", TEAM.file, ELSEWHERE, "shop"),
        ("shop", f"{WORKTREES}/shop/a/corral.toml", f"{WORKTREES}/shop/a", "shop"),
        ("toys", TEAM.file, ELSEWHERE, "no team of yours of"),
        ("toys", f"{WORKTREES}/shop/a/corral.toml", f"{WORKTREES}/shop/a", "no team of"),
        ("shop", f"{ELSEWHERE}/corral.toml", SHOP, "no team of"),
    ],
)
def test_the_file_of_a_team_to_end_is_that_of_an_own_one(
    tmp_path: Path, own: str, file: str, cwd: str, expected: str
) -> None:
    async def act(scene: Scene) -> None:
        two_teams(scene.registry)
        seen = Of(scene.registry, own)
        if expected in scene.registry.teams:
            assert find_team_to_end(seen, file=file, cwd=cwd).name == expected
        else:
            with pytest.raises(NotFoundError, match=expected):
                find_team_to_end(seen, file=file, cwd=cwd)

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/stop", {"all": True}),
        ("POST", "/v1/restart", {"all": True}),
        ("POST", "/v1/pause", {"all": True}),
        ("POST", "/v1/rm", {"all": True}),
        ("POST", "/v1/broadcast", b"hi"),
        ("GET", "/v1/logs", None),
        ("GET", "/v1/kv/list", None),
        ("GET", "/v1/tasks", None),
        ("GET", "/v1/merges", None),
        ("POST", "/v1/messages", {"to": ["all"], "text": "hi"}),
    ],
)
@pytest.mark.parametrize("decides", [False, True])
def test_whatever_is_about_a_team_takes_none_in_the_place_of_that_of_the_file_around(
    tmp_path: Path, method: str, path: str, body: object, *, decides: bool
) -> None:
    where = {"cwd": ELSEWHERE, "nearest": f"{ELSEWHERE}/corral.toml"}

    async def act(scene: Scene) -> None:
        await scene.registry.commit(PERSON, drop_teams=["toys"], drop_agents=[("toys", "z")])
        in_body = isinstance(body, dict) and "all" in body
        target = path if in_body else f"{path}?cwd={where['cwd']}&nearest={where['nearest']}"
        reply = await scene.ask(method, target, {**body, **where} if in_body and isinstance(body, dict) else body)
        assert (reply.status, reply.json["error"]["message"]) == (404, NOT_UP)
        assert reply.json["error"]["remedy"] == "corral up starts it; another is named with --team: shop"

    if decides:
        decided(tmp_path, Scripted(lambda _: True), act)
    else:
        play(tmp_path, act)


def test_down_takes_no_team_that_nothing_names(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.registry.commit(PERSON, drop_teams=["toys"], drop_agents=[("toys", "z")])
        reply = await scene.ask("POST", "/v1/down", {"cwd": ELSEWHERE})
        assert (reply.status, reply.json["error"]["message"]) == (400, "which team? there are: shop")
        assert "shop" in scene.registry.teams

    play(tmp_path, act)
    decided(tmp_path, Scripted(lambda _: True), act)


def test_an_agent_of_somebody_elses_is_named_with_its_team(tmp_path: Path) -> None:
    """Also where an own team is around whose agent of that name is away: what is for that one is not for theirs."""

    async def act(scene: Scene) -> None:
        two_teams(scene.registry)
        seen = Of(scene.registry, "shop")
        assert find_agent(seen, team="", agent="a", cwd=OTHER_TEAM.directory).team == "shop"
        del scene.registry.agents["shop", "a"]
        with pytest.raises(WrongUseError, match="which a\\? none of yours; of others there are: toys/a"):
            find_agent(seen, team="", agent="a", cwd=TEAM.directory)
        assert find_agent(seen, team="toys", agent="a", cwd="").team == "toys"

    play(tmp_path, act)
