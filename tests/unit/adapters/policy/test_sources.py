"""The files of a policy: what a host and its teams may change, and what is refused."""

import json
import os
from pathlib import Path

import pytest

from corral.adapters.policy.sources import read, write
from corral.domain.errors import BadPolicyError
from corral.domain.policy import Decision
from tests.support.permissions import decisions, question


def put(directory: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(directory)


def decide(directory: str, who: str, what: str, on: str) -> Decision:
    (decision,) = decisions([question(who, what, on)], directory)
    return decision


def test_without_a_directory_it_is_the_one_that_ships(tmp_path: Path) -> None:
    assert read(str(tmp_path / "none")).data == read().data


@pytest.mark.parametrize(
    "rule", ["deny if", "deny := true if", 'deny := "no" if', "allow := 1 if", 'allow := ["x"] if']
)
def test_rules_of_a_team_that_name_no_rule_are_a_denial_and_not_nothing(tmp_path: Path, rule: str) -> None:
    text = f'package corral.teams.shop\n\n{rule} input.verb == "send"\n'
    place = put(tmp_path, {"teams/shop/own.rego": text})
    assert decide("", "june", "send", "shop/builder").allow
    assert decide(place, "june", "send", "shop/builder").rule == "rules_of_the_team"
    assert decide(place, "june", "logs", "shop/builder").allow, "which its rules are not about"
    assert decide(place, "sam", "send", "bank/teller").allow, "and others have rules of their own"


def test_what_is_in_the_place_of_the_directory_and_is_none_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "unmounted")
    (tmp_path / "file").write_text("package corral\n")
    for name in ("dangling", "file"):
        with pytest.raises(BadPolicyError, match="is no directory"):
            read(str(tmp_path / name))


def test_a_host_changes_what_a_role_may(tmp_path: Path) -> None:
    assert not decide("", "jim", "logs", "shop/builder").allow
    tables = {"tables": {"roles": {"junior": {"grants": {"read": ["own", "teammates"]}}}}}
    place = put(tmp_path, {"data.json": json.dumps(tables)})
    assert decide(place, "jim", "logs", "shop/builder").rule == "junior.read.teammates"
    assert decide(place, "jim", "logs", "shop/helper").allow
    assert not decide(place, "jim", "logs", "bank/teller").allow


def test_a_host_adds_a_rule_that_allows_and_one_that_forbids(tmp_path: Path) -> None:
    text = """package corral

allow["on_call"] := "jim is on call" if {
	input.verb == "send"
	input.who.user == "jim"
}

deny["frozen"] := "nobody touches the bank" if {
	input.on.team == "bank"
	act == "steer"
}
"""
    place = put(tmp_path, {"own.rego": text})
    assert decide(place, "jim", "send", "shop/builder").as_json() == {
        "allow": True,
        "rule": "on_call",
        "reason": "jim is on call",
    }
    assert decide(place, "olga", "send", "bank/teller").rule == "frozen"
    assert decide(place, "olga", "logs", "bank/teller").allow


@pytest.mark.parametrize("team", ["shop", "my-shop"])
def test_rules_and_roles_of_a_team_count_for_that_team_alone(tmp_path: Path, team: str) -> None:
    package = f'package corral.teams["{team}"]\n' if "-" in team else f"package corral.teams.{team}\n"
    place = put(
        tmp_path,
        {
            f"teams/{team}/own.rego": f'{package}\nallow["all_read"] := "here all read" if input.verb == "logs"\n',
            f"teams/{team}/data.json": '{"roles": {"observer": {"grants": {"steer": ["any"]}}}}',
        },
    )
    assert decide(place, "jim", "logs", f"{team}/builder").rule == "all_read"
    assert not decide(place, "jim", "logs", "bank/teller").allow
    assert decide(place, "obi", "send", f"{team}/builder").rule == "observer.steer.any"
    assert not decide(place, "obi", "send", "bank/teller").allow
    assert decide(place, "obi", "logs", f"{team}/builder").allow


@pytest.mark.parametrize(
    "roles", ['{"observer": null}', '{"observer": {"grants": null}}', '{"observer": {"grants": {"read": null}}}']
)
def test_what_a_team_takes_away_is_denied_there_and_nowhere_else(tmp_path: Path, roles: str) -> None:
    place = put(tmp_path, {"teams/shop/data.json": f'{{"roles": {roles}}}'})
    assert decide("", "obi", "logs", "shop/builder").allow
    assert decide(place, "obi", "logs", "shop/builder").rule == "observer.read"
    assert decide(place, "obi", "logs", "bank/teller").allow
    assert decide(place, "june", "logs", "shop/builder").allow, "which is another role"


@pytest.mark.parametrize(
    "text",
    [
        "package corral\n",
        "package corral.teams.bank\n",
        "# package corral.teams.shop\npackage corral\n",
        " package corral\nx := `\npackage corral.teams.shop\n`\n",
        "package corral.teams.shop;package corral\n",
    ],
)
def test_no_team_writes_rules_for_others(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadPolicyError, match=r"own\.rego"):
        read(put(tmp_path, {"teams/shop/own.rego": text}))


def test_tests_do_not_decide(tmp_path: Path) -> None:
    place = put(tmp_path, {"own_test.rego": "package corral_test\n\ntest_it if true\n"})
    assert [module.path for module in read(place).modules if module.is_test] == []
    assert [os.path.basename(one.path) for one in read(place, tests=True).modules if one.is_test] == ["own_test.rego"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"data.json": "{"}, "no JSON"),
        ({"data.json": "[]"}, "no JSON object"),
        ({"data.json": "[" * 100_000}, "no JSON"),
        ({"data.json": '{"tables": {"roles": {"junior": {"grants": {"raed": []}}}}}'}, "the act 'raed'"),
        ({"data.json": '{"tables": {"teams": {"shop": {"observer": null}}}}'}, "has tables of teams"),
        ({"data.json": '{"roles": {"junior": {"grants": {}}}}'}, "has roles at the top"),
        ({"teams/shop/data.json": '{"roles": {"obsrever": null}}'}, "the role 'obsrever'"),
        ({"own.rego": "allow := true\n"}, "has no package"),
        ({"teams/No_Team/own.rego": "package corral\n"}, "cannot be of a team"),
        ({"own.rego": f"package corral\n# {'x' * (1 << 20)}\n"}, "more than"),
    ],
)
def test_what_cannot_be_is_told_with_the_file(tmp_path: Path, files: dict[str, str], told: str) -> None:
    with pytest.raises(BadPolicyError) as raised:
        read(put(tmp_path, files))
    assert told in raised.value.message
    assert raised.value.remedy


def test_a_file_that_is_no_rego_is_told_with_its_line(tmp_path: Path) -> None:
    place = put(tmp_path, {"own.rego": "package corral\n\nallow[ := if\n"})
    with pytest.raises(BadPolicyError, match=r"own\.rego:3 is no Rego"):
        decisions([], place)


@pytest.mark.parametrize("name", ["own.rego", "data.json", "teams/shop/own.rego", "teams", "."])
def test_what_others_could_write_does_not_decide(tmp_path: Path, name: str) -> None:
    place = put(
        tmp_path,
        {"own.rego": "package corral\n", "data.json": "{}", "teams/shop/own.rego": "package corral.teams.shop\n"},
    )
    read(place)
    (tmp_path / name).chmod(0o777)
    with pytest.raises(BadPolicyError, match="can be written by others"):
        read(place)
    read(place, trusted=False)


def test_a_link_does_not_decide(tmp_path: Path) -> None:
    place = put(tmp_path / "policy", {"data.json": "{}"})
    (tmp_path / "elsewhere").write_text("package corral\n")
    (tmp_path / "policy" / "own.rego").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadPolicyError, match="symbolic link"):
        read(place)


def test_a_pipe_holds_up_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.rego", 0o600)
    with pytest.raises(BadPolicyError, match="no regular file"):
        read(str(tmp_path))


def test_it_is_written_for_a_server_and_never_over_anything(tmp_path: Path) -> None:
    place = put(tmp_path / "policy", {"roles.rego": "package corral\n", "data.json": '{"mine": 1}'})
    to = tmp_path / "to"
    written = write(read(place), str(to))
    assert sorted(written) == sorted(str(path) for path in to.iterdir())
    assert json.loads((to / "data.json").read_text())["mine"] == 1
    assert len([name for name in written if name.endswith("roles.rego")]) == 2
    with pytest.raises(BadPolicyError, match="not empty"):
        write(read(place), str(to))
