"""Where a team is says whoever started it: that changes nothing about what somebody else's commands mean."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.api.deciding import Scripted, decided
from tests.unit.api.scene import OTHER_TEAM, Scene


async def _claimed(scene: Scene, directory: str) -> None:
    """Ann says that her team is there; each of her agents is called as one of mine, or as none."""
    theirs = replace(OTHER_TEAM, file=f"{directory}/corral.toml", directory=directory)
    names = [replace(AGENT, team="toys", name=name, workspace="/y", position=at) for at, name in enumerate("az")]
    await scene.registry.commit(PERSON, teams=[theirs], agents=names)


@pytest.mark.parametrize("directory", [TEAM.directory, f"{TEAM.directory}/src", "/", "/elsewhere"])
@pytest.mark.parametrize("cwd", ["/x/src/deep", "/elsewhere/deep"])
def test_a_name_without_a_team_means_what_is_of_the_callers_own_person(
    tmp_path: Path, directory: str, cwd: str
) -> None:
    policy = Scripted(lambda _: True)

    async def act(scene: Scene) -> None:
        await _claimed(scene, directory)
        assert (await scene.ask("GET", f"/v1/kv/list?cwd={cwd}")).status == 200
        assert (await scene.ask("POST", "/v1/pause", {"agents": ["a"], "all": False, "cwd": cwd})).status == 200

    decided(tmp_path, policy, act)
    for verb in ("list_values", "pause"):
        assert {on.team for on in policy.about(verb)} == {"shop"}, verb


def test_the_file_of_a_team_is_the_one_of_the_callers_own_team(tmp_path: Path) -> None:
    policy = Scripted(lambda _: True)

    async def act(scene: Scene) -> None:
        await _claimed(scene, TEAM.directory)
        scene.registry.teams = dict(reversed(scene.registry.teams.items()))
        await scene.ask("POST", "/v1/down", {"file": TEAM.file, "cwd": "/x"})
        await scene.registry.commit(PERSON, drop_teams=["shop"], drop_agents=[("shop", "a"), ("shop", "b")])
        reply = await scene.ask("POST", "/v1/down", {"file": TEAM.file, "cwd": "/x"})
        assert reply.status == 404
        assert reply.json["error"]["remedy"] == "somebody else's is named with --team: toys"

    decided(tmp_path, policy, act)
    assert {on.team for on in policy.about("down")} == {"shop"}


def test_who_has_no_team_names_that_of_others_and_no_directory_tells(tmp_path: Path) -> None:
    policy = Scripted(lambda _: True)

    async def act(scene: Scene) -> None:
        await scene.registry.commit(PERSON, drop_teams=["shop"], drop_agents=[("shop", "a"), ("shop", "b")])
        reply = await scene.ask("GET", "/v1/kv/list?cwd=/y")
        assert (reply.status, reply.json["error"]["remedy"]) == (400, "name it with --team")
        assert (await scene.ask("GET", "/v1/kv/list?cwd=/y&team=toys")).status == 200

    decided(tmp_path, policy, act)
