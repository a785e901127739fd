"""`corral member`: what it asks the daemon, what it does with accounts, what it says. The rest is in tests/lab."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral import wiring_members
from corral.cli import member
from corral.domain import host_names
from corral.domain.errors import CorralError
from corral.domain.host_names import MEMBERS
from corral.domain.host_plan import Step
from corral.domain.member_plan import AccountSeen
from corral.places import Places
from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, Request, document, refusal

ANN: dict[str, Any] = {
    "user": "ann", "uid": 1001, "role": "senior", "teams": ["shop"], "of": "", "agent_users": [],
    "since": "2026-11-16T12:00:00.000Z", "by": "root", "problems": [],
}  # fmt: skip
PATH = "/v1/members/ann"
NEW = AccountSeen(user="ann", uid=1001, own_group="ann")
JOINED = replace(NEW, groups=frozenset({MEMBERS}), lingers=True, noted=True)


class Accounts:
    """The accounts of a host: what is seen of ann, and the steps that were taken, the daemon's among them."""

    def __init__(self) -> None:
        self.seen = NEW
        self.done: list[str] = []
        self.fails = ""

    def do(self, step: Step) -> None:
        if step.action == self.fails:
            raise CorralError(f"{step.action} failed", "mend it")
        self.done.append(step.action)
        if step.action == "join_members":
            self.seen = replace(self.seen, groups=frozenset({MEMBERS}))


@pytest.fixture
def server(daemon: FakeDaemon, places: Places, monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    """The daemon of a shared server, which takes ann as senior and as nothing else."""
    monkeypatch.setattr(host_names, "RUNTIME", places.runtime)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    def put(request: Request) -> bytes:
        dry_run = request.json().get("dry_run", False)
        changed = {"change": "added", "dry_run": dry_run, "group": MEMBERS, "member": ANN, "before": None}
        return document(changed)

    daemon.answer("PUT", PATH, put)
    daemon.answer(
        "DELETE",
        PATH,
        document({"change": "removed", "dry_run": False, "group": MEMBERS, "member": ANN, "before": ANN}),
    )
    return daemon


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> Accounts:
    """Root, on a host whose accounts are played."""
    played = Accounts()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(wiring_members, "see", lambda _: played.seen)
    monkeypatch.setattr(wiring_members, "Hands", lambda _: played)
    return played


def asked(daemon: FakeDaemon) -> list[tuple[str, bool]]:
    """The requests that were made: each by its method, and whether it was only to look."""
    return [
        (one.method, bool(one.query.get("dry_run")) if one.method == "DELETE" else bool(one.json().get("dry_run")))
        for one in daemon.requests
    ]


def test_root_does_what_is_roots_and_the_daemon_notes_it_last(
    corral: Corral, server: FakeDaemon, accounts: Accounts
) -> None:
    outcome = corral("member", "add", "ann", "--role", "senior", "--team", "shop")
    assert outcome.code == 0, outcome.err
    assert accounts.done == ["join_members", "linger_on"]
    assert asked(server) == [("PUT", True), ("PUT", False)]
    assert server.last.json() == {"role": "senior", "of": "", "teams": ["shop"]}
    plan = ["the plan:", "  • put ann into the group corral-members  (not in it)"]
    assert outcome.out.splitlines()[:2] == plan
    assert outcome.out.splitlines()[-1] == "ann is a member of this host: senior, in shop"
    assert "log-in on" not in outcome.err, "the door is open at once"


def test_only_to_look_changes_nothing(corral: Corral, server: FakeDaemon, accounts: Accounts) -> None:
    outcome = corral("member", "add", "ann", "--role", "senior", "--dry-run")
    assert (outcome.code, accounts.done, asked(server)) == (0, [], [("PUT", True)])
    assert outcome.out.endswith("nothing was done\n")
    answer = corral("member", "add", "ann", "--role", "senior", "--dry-run", "--json").json
    assert (answer["dry_run"], answer["change"]) == (True, "added")
    assert [step["action"] for step in answer["steps"]] == ["join_members", "linger_on", "note_member"]
    assert corral("member", "rm", "ann", "--dry-run", "--json").json["steps"][0] == {
        "action": "forget_member",
        "subject": "ann",
        "about": "strike ann off the members",
        "why": "a member",
    }
    assert accounts.done == []
    assert ("DELETE", False) not in asked(server)


def test_what_the_daemon_does_not_take_is_refused_before_anything_is_done(
    corral: Corral, server: FakeDaemon, accounts: Accounts
) -> None:
    server.answer("PUT", PATH, refusal(400, "wrong_use", "there is no role 'chief'", "there are: owner"))
    outcome = corral("member", "add", "ann", "--role", "chief", "--json")
    assert (outcome.code, outcome.error["remedy"], accounts.done) == (2, "there are: owner", [])


def test_a_step_that_fails_leaves_no_record(corral: Corral, server: FakeDaemon, accounts: Accounts) -> None:
    accounts.fails = "linger_on"
    outcome = corral("member", "add", "ann", "--role", "senior", "--json")
    assert (outcome.code, accounts.done, asked(server)) == (1, ["join_members"], [("PUT", True)])


def test_twice_there_is_nothing_to_do(corral: Corral, server: FakeDaemon, accounts: Accounts) -> None:
    accounts.seen = JOINED
    server.answer(
        "PUT", PATH, document({"change": "unchanged", "dry_run": False, "group": MEMBERS, "member": ANN, "before": ANN})
    )
    outcome = corral("member", "add", "ann", "--role", "senior")
    assert (outcome.code, outcome.out) == (0, "ann is a member of this host: senior, in shop, as before\n")
    assert (outcome.err, accounts.done) == ("", [])
    assert corral("member", "add", "ann", "--role", "senior", "--json").json["steps"] == []


def test_whoever_is_not_root_has_the_daemon_note_it_and_touches_no_account(corral: Corral, server: FakeDaemon) -> None:
    outcome = corral("member", "add", "ann", "--role", "senior", "--json")
    assert (outcome.code, [step["action"] for step in outcome.json["steps"]]) == (0, ["note_member"])
    server.answer("PUT", PATH, refusal(409, "refused", "ann is not in the group", "sudo corral member add ann"))
    assert corral("member", "add", "ann", "--role", "senior", "--json").code == 4
    gone = corral("member", "rm", "ann")
    assert (gone.code, gone.out.splitlines()[-1]) == (0, "ann is no member of this host any more")
    assert "sudo corral member rm ann" in gone.err


def test_the_daemon_forgets_first_then_the_account_is_as_any_other(
    corral: Corral, server: FakeDaemon, accounts: Accounts
) -> None:
    accounts.seen = replace(JOINED, has_keeper=True)
    outcome = corral("member", "rm", "ann", "--force")
    assert outcome.code == 0, outcome.err
    assert accounts.done == ["leave_members", "stop_keeper", "linger_off"]
    assert asked(server) == [("DELETE", True), ("DELETE", False)]
    assert server.last.query == {"force": ["1"]}


def test_whoever_forces_it_is_told_what_stays_up_and_what_takes_it_down(
    corral: Corral, server: FakeDaemon, accounts: Accounts
) -> None:
    accounts.seen = JOINED
    removed = {"change": "removed", "dry_run": False, "group": MEMBERS, "member": ANN, "before": ANN}
    server.answer("DELETE", PATH, document({**removed, "left_up": ["cash", "shop"]}))
    said = corral("member", "rm", "ann", "--force").err
    assert "still up, with agents of ann that nobody can end as long as ann is no member: cash shop" in said
    assert "sudo corral member add ann --role senior; sudo corral down --team cash; sudo corral member rm ann" in said


def test_what_an_owner_left_up_without_root_can_be_taken_down(
    corral: Corral, server: FakeDaemon, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member, "_does_accounts", lambda _: False)
    removed = {"change": "removed", "dry_run": False, "group": MEMBERS, "member": ANN, "before": ANN}
    server.answer("DELETE", PATH, document({**removed, "left_up": ["cash", "shop"]}))
    said = corral("member", "rm", "ann", "--force").err
    assert "still up, with agents of ann, who is no member any more: cash shop" in said
    assert "to take them down: sudo corral down --team cash\n" in said
    assert "sudo corral member add" not in said


def test_teams_in_an_instance_from_before_are_told_of(
    corral: Corral, server: FakeDaemon, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring_members, "own_instance_of", lambda user: [f"{user}'s team is up", "take it down"])
    assert corral("member", "add", "ann", "--role", "senior", "--json").json["notes"] == [
        "ann's team is up",
        "take it down",
    ]


def test_what_an_interrupted_removal_left_is_removed(corral: Corral, server: FakeDaemon, accounts: Accounts) -> None:
    server.answer("DELETE", PATH, refusal(404, "not_found", "ann is no member of this host", ""))
    accounts.seen = JOINED
    assert corral("member", "rm", "ann", "--json").code == 0
    assert accounts.done == ["leave_members", "linger_off"]
    accounts.seen = NEW
    outcome = corral("member", "rm", "ann", "--json")
    assert (outcome.code, outcome.error["message"]) == (3, "ann is no member of this host")


def test_a_refused_removal_changes_nothing(corral: Corral, server: FakeDaemon, accounts: Accounts) -> None:
    accounts.seen = JOINED
    server.answer("DELETE", PATH, refusal(409, "refused", "teams of ann are up: shop", "corral down --team shop"))
    assert (corral("member", "rm", "ann", "--json").code, accounts.done) == (4, [])


@pytest.mark.parametrize("user", ["", "..", "../x", "a/b", "a b", "-x", "é", "a?b", "a%2Fb"])
def test_what_no_user_can_be_called_is_asked_of_nobody(
    corral: Corral, server: FakeDaemon, accounts: Accounts, user: str
) -> None:
    for command in ("add", "rm", "show"):
        assert corral("member", command, "--", user).code == 3
    assert (server.requests, accounts.done) == ([], [])


def test_members_are_listed_with_what_is_wrong(corral: Corral, server: FakeDaemon) -> None:
    server.answer("GET", "/v1/members", document([]))
    assert "nobody is a member yet" in corral("member", "ls").out
    bot = {**ANN, "user": "agent-builder", "role": "agent", "teams": [], "of": "ann", "problems": ["linger is off"]}
    server.answer("GET", "/v1/members", document([bot, ANN]))
    outcome = corral("member", "ls")
    assert [line.split() for line in outcome.out.splitlines()] == [
        ["USER", "ROLE", "TEAMS", "OF", "SINCE", "BY"],
        ["agent-builder", "agent", "ann", "2026-11-16", "root"],
        ["ann", "senior", "shop", "2026-11-16", "root"],
    ]
    assert outcome.err == "agent-builder: linger is off\n"
    assert corral("member", "ls", "--json").json == [bot, ANN]
    assert corral("member", "ls", "-q").out == "agent-builder\nann\n"


def test_a_member_is_shown(corral: Corral, server: FakeDaemon) -> None:
    server.answer("GET", PATH, document(ANN))
    assert corral("member", "show", "ann", "--json").json == ANN
    outcome = corral("member", "show", "ann")
    assert "role:" in outcome.out
    assert "agent users:" not in outcome.out


def test_an_instance_of_one_person_has_nobody_else_and_nothing_is_started(
    corral: Corral, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (("ls",), ("show", "ann"), ("add", "ann", "--role", "owner"), ("rm", "ann")):
        outcome = corral("member", *words, "--json")
        assert (outcome.code, outcome.error["code"]) == (4, "refused")
        assert "nobody but you" in outcome.error["message"]
    assert not os.path.exists(places.home)
    monkeypatch.setattr(host_names, "RUNTIME", places.runtime)
    outcome = corral("member", "ls", "--json")
    assert (outcome.code, outcome.error["remedy"]) == (
        6,
        "sudo systemctl start corral.service; journalctl --unit corral.service says why it ended",
    )


def test_on_a_host_that_does_not_serve_me_that_is_told(
    corral: Corral, own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corral.cli import member

    unit = own_directory / "corral.service"
    unit.touch()
    monkeypatch.setattr(member, "SERVICE_FILE", str(unit))
    monkeypatch.delenv("CORRAL_HOME")
    monkeypatch.delenv("CORRAL_RUNTIME_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(own_directory))
    outcome = corral("member", "ls", "--json")
    assert outcome.code == 6
    assert "sudo corral member ls" in outcome.error["remedy"]
    door = own_directory / "shut.sock"
    door.touch()
    monkeypatch.setattr(host_names, "SOCKET", str(door))
    monkeypatch.setattr(os, "access", lambda *_: False)
    # Also with a daemon of one's own that listens.
    monkeypatch.setattr(member, "somebody_listens", lambda _: True)
    outcome = corral("member", "ls", "--json")
    assert (outcome.code, "a shared server, and" in outcome.error["message"]) == (6, True)
    assert "sudo corral member add" in outcome.error["remedy"]


def test_the_policy_of_a_host_is_asked_by_its_daemon(corral: Corral, server: FakeDaemon) -> None:
    said = {"allow": True, "rule": "senior.steer.below", "reason": "because", "input": {}, "assumed": []}
    server.answer("GET", "/v1/policy/check", document(said))
    words = ("policy", "check", "--as", "ben", "attach", "ann/builder", "--mode", "observe", "--team", "shop")
    outcome = corral(*words)
    assert (outcome.code, outcome.out) == (0, "allowed by senior.steer.below: because\n")
    assert server.last.query == {
        "verb": ["attach"], "who": ["ben"], "on": ["ann/builder"], "in_team": ["shop"], "fact": ["mode=observe"],
    }  # fmt: skip
    server.answer("GET", "/v1/policy/check", document({**said, "allow": False}))
    assert corral(*words, "--json").code == 4
    assert json.loads(corral(*words, "--json").out)["allow"] is False
