"""`run_as` of an agent, `group` and `group_access` of `[team]`, and what follows from them."""

import pytest

from corral.domain import run_as, spec
from corral.domain.environment import environment_of_another
from corral.domain.errors import BadSpecError, RefusedError
from corral.domain.group_access import NO_GROUP_ACCESS, GroupAccess
from corral.domain.spec import TeamSpec


def read(team: str = "", agent: str = "") -> TeamSpec:
    return spec.parse(f'[team]\nname = "t"\n{team}\n[agents.a]\ncommand = ["cat"]\n{agent}\n', "/x/corral.toml")


def test_without_a_word_agents_are_their_persons_and_worktrees_nobody_elses() -> None:
    team = read()
    assert (team.group_access, team.agents[0].run_as) == (NO_GROUP_ACCESS, "")
    assert GroupAccess().mode == 0o700


@pytest.mark.parametrize(("access", "mode"), [("read", 0o750), ("write", 0o770)])
def test_a_group_may_be_let_in(access: str, mode: int) -> None:
    found = read(f'group = "devs"\ngroup_access = "{access}"').group_access
    assert (found, found.mode) == (GroupAccess("devs", access), mode)


def test_a_group_that_may_do_nothing_is_none() -> None:
    assert read('group = "devs"\ngroup_access = "none"').group_access == NO_GROUP_ACCESS


@pytest.mark.parametrize(
    ("line", "about"),
    [
        ('group = "devs"', "team.group"),
        ('group_access = "read"', "team.group_access"),
        ('group = "De vs"\ngroup_access = "read"', "team.group"),
        ('group = ""\ngroup_access = "read"', "team.group"),
        ('group = "devs"\ngroup_access = "all"', "team.group_access"),
        ("group = 7", "team.group"),
    ],
)
def test_mistakes_about_groups_are_told(line: str, about: str) -> None:
    with pytest.raises(BadSpecError) as told:
        read(line)
    assert f"{about}:" in told.value.message


def test_an_agent_may_be_run_by_another_user_and_that_is_part_of_what_it_is() -> None:
    plain, other = read(), read(agent='run_as = "agent-builder"')
    assert other.agents[0].run_as == "agent-builder"
    prints = [spec.fingerprint(team.agents[0], b"salt") for team in (plain, other)]
    assert spec.differences(*prints) == ["run_as"]
    assert spec.split_differences(["run_as"]) == ((), ("run_as",)), "it takes a restart"


@pytest.mark.parametrize("value", ['"Agent"', '"a b"', '""', '"../x"', '"-a"', "7", '"' + "a" * 40 + '"'])
def test_what_cannot_be_a_user_is_told(value: str) -> None:
    with pytest.raises(BadSpecError) as told:
        read(agent=f"run_as = {value}")
    assert "agents.a.run_as:" in told.value.message


IN_ORDER = {
    "agent": "a",
    "owner": "ann",
    "owners_groups": {"ann", "bot"},
    "user": "bot",
    "own_group": "bot",
    "groups": {"bot", "corral-agents"},
    "uid": 1009,
}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"groups": set()}, "there is no user bot"),
        ({"groups": {"bot"}}, "is not a user for agents"),
        ({"groups": {"bot", "corral-agents", "corral-members"}}, "a person's log-in"),
        ({"own_group": "users"}, "the first group of bot is users"),
        ({"own_group": ""}, "the first group of bot is unknown"),
        ({"owners_groups": {"ann", "corral-agents"}}, "ann may not have agents run by bot"),
    ],
)
def test_who_may_use_whom(change: dict[str, object], why: str) -> None:
    run_as.check(**IN_ORDER)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match=why) as told:
        run_as.check(**{**IN_ORDER, **change})  # type: ignore[arg-type]
    assert told.value.remedy


def test_what_belongs_to_somebody_else_is_used_by_nobody_else() -> None:
    for whose in ("", "ann", "bot"):
        run_as.check_whose("a", "ann", "bot", whose)
    with pytest.raises(RefusedError, match="a: bot belongs to ann, and so does all that runs as it") as told:
        run_as.check_whose("a", "ben", "bot", "ann")
    assert told.value.remedy.endswith("sudo corral member add NAME --role agent --of ben makes one")


def test_one_may_always_be_oneself() -> None:
    run_as.check("a", "ann", (), "ann", "", (), 1000)


def test_another_user_finds_nothing_of_the_persons_own() -> None:
    callers = {
        "PATH": "/bin",
        "LANG": "C",
        "LC_ALL": "C",
        "HOME": "/home/ann",
        "SSH_AUTH_SOCK": "/s",
        "TOKEN": "x",
        "LC_x%%": "() {",
    }
    assert environment_of_another(callers, "bot", 1009, "/home/bot", "") == {
        "PATH": "/bin",
        "LANG": "C",
        "LC_ALL": "C",
        "HOME": "/home/bot",
        "USER": "bot",
        "LOGNAME": "bot",
        "SHELL": "/bin/sh",
        "XDG_RUNTIME_DIR": "/run/user/1009",
    }
