"""`corral member` on a real machine: groups, linger and records, by root and by others; twice, and taken back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.members import actions, events, is_in, member, members, notes, refused, told
from tests.lab.support.shared import add_member, ask, host, missing, shared_server, system, tidy
from tests.lab.support.shells import logged_in
from tests.lab.support.users import User

BOT = "agent-builder"
CONNECT = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"/run/corral/daemon.sock\")'"


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """For all of this file: it takes a while to set one up. Nobody is a member of it."""
    with shared_server():
        yield


@pytest.fixture
def server(one_server: None) -> Iterator[None]:
    """A server without members, and without them again afterwards."""
    yield
    for _ in range(2):  # people can go when their users of agents are gone
        for one in members():
            member("rm", one["user"], "--force", check=False)
    assert members() == []
    tidy()


@pytest.fixture
def bot(server: None) -> Iterator[User]:
    """A user that nobody logs in as."""
    system("useradd", "--create-home", BOT)
    user = User(BOT)
    uid = user.uid
    try:
        yield user
    finally:
        member("rm", BOT, "--force", check=False)
        system("systemctl", "stop", f"user@{uid}.service", f"user-{uid}.slice")
        system("userdel", "--remove", "--force", BOT)


def test_root_makes_the_first_owner_who_is_served_at_once(server: None, ann: User) -> None:
    assert "sudo corral member add USER --role owner" in member("ls").stdout
    with logged_in(ann) as before:
        assert before.run(CONNECT)[0] != 0
        document = told("add", "ann", "--role", "owner")
        assert (document["change"], actions(document)) == ("added", ["join_members", "note_member"]), "she lingers"
        assert document["notes"] == []
        assert "corral-members" not in before.run("id -nG")[1].split(), "this session is none of the group's"
        code, said = before.run("corral member show ann --json")
        assert code == 0, said
        # What her service manager starts gets in as well, though it runs since the machine was booted.
        code, connected = before.run(f"systemd-run --user --quiet --collect --pipe --wait {CONNECT}")
        assert code == 0, connected
        told("rm", "ann")
        assert "PermissionError" in before.run(CONNECT)[1], "the door is shut for who is logged in, too"
        told("add", "ann", "--role", "owner")
    record = json.loads(said)
    assert (record["user"], record["uid"], record["role"], record["by"]) == ("ann", ann.uid, "owner", "root")
    assert record["problems"] == []
    assert missing() == [], "the set-up finds nothing to do about her"


def test_by_sudo_of_somebody_it_is_the_same(server: None, dev: User) -> None:
    done = dev.run("sudo", "-n", "corral", "member", "add", "dev", "--role", "owner", "--json")
    assert json.loads(done.stdout)["member"]["by"] == "root"
    assert json.loads(dev.run("corral", "member", "ls", "--json").stdout)[0]["user"] == "dev"


def test_twice_changes_nothing_and_the_way_back_leaves_nothing(server: None, cleo: User) -> None:
    assert not cleo.lingers
    before = len(events())
    assert actions(told("add", "cleo", "--role", "junior", "--team", "shop")) == [
        "join_members",
        "linger_on",
        "note_member",
    ]
    assert (cleo.lingers, notes(), is_in("corral-members")) == (True, ["cleo"], ["cleo"])
    again = told("add", "cleo", "--role", "junior", "--team", "shop")
    assert (again["change"], actions(again), again["notes"]) == ("unchanged", [], []), "her manager started with it"
    assert missing() == []
    assert told("add", "cleo", "--role", "senior")["member"]["teams"] == ["shop"]
    gone = told("rm", "cleo")
    assert actions(gone) == ["forget_member", "leave_members", "linger_off"]
    assert (cleo.lingers, notes(), is_in("corral-members"), members()) == (False, [], [], [])
    code, said = refused(member("rm", "cleo", "--json", check=False))
    assert (code, "cleo is no member" in said) == (3, True)
    assert events()[before:] == [
        ("member.added", "cleo", "root"),
        ("member.changed", "cleo", "root"),
        ("member.removed", "cleo", "root"),
    ]


def test_linger_that_somebody_had_before_stays(server: None, ben: User) -> None:
    told("add", "ben", "--role", "junior")
    assert actions(told("rm", "ben")) == ["forget_member", "leave_members"]
    assert ben.lingers


def test_only_to_look_changes_nothing(server: None, cleo: User) -> None:
    would = told("add", "cleo", "--role", "junior", "--dry-run")
    assert (would["dry_run"], actions(would)) == (True, ["join_members", "linger_on", "note_member"])
    assert (cleo.lingers, is_in("corral-members"), members()) == (False, [], [])
    told("add", "cleo", "--role", "junior")
    told("rm", "cleo", "--dry-run")
    assert (cleo.lingers, is_in("corral-members"), len(members())) == (True, ["cleo"], 1)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["eve", "--role", "junior"], 3, "there is no user eve"),
        (["cleo", "--role", "chief"], 2, "there are: owner, senior, junior, observer, agent"),
        (["cleo"], 2, "which role"),
        (["cleo", "--role", "agent"], 2, "--of MEMBER"),
        (["cleo", "--role", "agent", "--of", "ben"], 4, "ben is no person of this host"),
        (["root", "--role", "owner"], 4, "always an owner"),
        (["corral", "--role", "owner"], 4, "account of the system"),
        (["nobody", "--role", "owner"], 4, "account of the system"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_changed(
    server: None, cleo: User, words: list[str], code: int, message: str
) -> None:
    found, said = refused(member("add", *words, "--json", check=False))
    assert found == code, said
    assert message in said
    assert (cleo.lingers, is_in("corral-members"), is_in("corral-agents"), members()) == (False, [], [], [])


def test_an_owner_without_root_changes_roles_and_cannot_change_groups(server: None, ann: User, cleo: User) -> None:
    told("add", "ann", "--role", "owner")
    done = ann.run("corral", "member", "add", "cleo", "--role", "junior", "--json", check=False)
    assert refused(done) == (
        4,
        "cleo is not in the group corral-members, and only root can change that | "
        "sudo corral member add cleo --role junior does both",
    )
    assert (cleo.lingers, is_in("corral-members")) == (False, ["ann"])
    add_member(cleo)
    document = json.loads(ann.run("corral", "member", "add", "cleo", "--role", "junior", "--json").stdout)
    assert (document["change"], actions(document), document["member"]["by"]) == ("added", ["note_member"], "ann")
    assert document["member"]["problems"] == ["linger is off"], "which the set-up says as well"
    assert [(step["action"], step["subject"]) for step in missing()] == [("linger_on", "cleo")]
    ann.run("corral", "member", "rm", "cleo")
    assert (is_in("corral-members"), [one["user"] for one in members()]) == (["ann", "cleo"], ["ann"])
    assert actions(told("rm", "cleo")) == ["leave_members"], "what only root can do is still to be done"


def test_the_set_up_and_members_agree_about_linger(server: None, cleo: User) -> None:
    told("add", "cleo", "--role", "junior")
    system("loginctl", "disable-linger", "cleo")
    assert members()[0]["problems"] == ["linger is off"]
    assert [(step["action"], step["subject"]) for step in missing()] == [("linger_on", "cleo")]
    host("setup", "--yes")
    assert (members()[0]["problems"], missing()) == ([], [])


def test_a_user_of_agents_is_somebodys(server: None, ann: User, bot: User) -> None:
    told("add", "ann", "--role", "junior")
    document = told("add", BOT, "--role", "agent", "--of", "ann")
    assert actions(document) == ["join_agents", "linger_on", "join_user", "note_member"]
    assert document["notes"][0] == f"ann is in the group {BOT} from the next log-in on", "nobody logs in as it"
    assert "sudo systemctl restart user@$(id -u ann).service" in document["notes"][1]
    assert len(document["notes"]) == 2
    assert is_in(BOT) == ["ann"], "workspaces are shared by that group"
    assert (is_in("corral-agents"), is_in("corral-members"), bot.lingers) == ([BOT], ["ann"], True)
    assert told("show", "ann")["agent_users"] == [BOT]
    code, answer = ask("keeper_start", BOT)
    assert (code, answer["uid"]) == (0, bot.uid), "the helper serves it"
    code, said = refused(member("rm", "ann", "--json", check=False))
    assert (code, BOT in said) == (4, True)
    assert actions(told("rm", BOT)) == ["leave_user", "forget_member", "leave_agents", "stop_keeper", "linger_off"]
    assert (is_in("corral-agents"), is_in(BOT), bot.lingers) == ([], [], False)
    assert ask("keeper_start", BOT)[0] == 4, "and does so no more"
    assert told("rm", "ann")["change"] == "removed"


def test_who_got_the_name_of_somebody_who_left_is_no_member(server: None, ann: User, bot: User) -> None:
    told("add", "ann", "--role", "junior")
    told("add", BOT, "--role", "agent", "--of", "ann")
    system("systemctl", "stop", f"user@{bot.uid}.service", f"user-{bot.uid}.slice")
    system("userdel", BOT)
    assert told("show", BOT)["problems"] == [f"there is no user {BOT} on this host any more"]
    assert is_in(BOT) == ["ann"], "the group stays, since she is in it"
    system("useradd", "--uid", "1777", "--gid", BOT, BOT)
    assert told("show", BOT)["problems"] == [f"{BOT} is another account now (uid 1777)"]
    code, said = refused(member("add", BOT, "--json", check=False))
    assert (code, "another account now" in said) == (4, True)
    assert told("rm", BOT)["change"] == "removed"
    assert (notes(), [one["user"] for one in members()], is_in(BOT)) == ([], ["ann"], [])


def test_whoever_is_killed_on_the_way_runs_it_again(server: None, cleo: User, own_directory: Path) -> None:
    def killed_at(action: str, *words: str) -> None:
        armed = own_directory / "armed"
        armed.touch()
        done = system("env", f"CORRAL_FAILPOINT=host.{action}:{armed}", "corral", "member", *words, check=False)
        assert (done.returncode, armed.exists()) == (-9, False), done.stderr

    for action in ("join_members", "linger_on", "note_member"):
        killed_at(action, "add", "cleo", "--role", "junior")
        assert members() == [], "the record comes last"
    told("add", "cleo", "--role", "junior")
    assert (cleo.lingers, is_in("corral-members"), len(members()), missing()) == (True, ["cleo"], 1, [])
    for action in ("forget_member", "leave_members", "linger_off"):
        killed_at(action, "rm", "cleo")
    told("rm", "cleo")
    assert (cleo.lingers, is_in("corral-members"), members(), notes()) == (False, [], [], [])
