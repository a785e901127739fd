"""Agents that are run by a user of their own: `run_as`, and who may use it."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.support.people import daemon, down, events, keeper, leave, pids, repository, rows, spec, states
from tests.lab.support.shared import add_member, host, remove_keeper_place, shared_server, system, tidy
from tests.lab.support.users import Result, User, cgroup
from tests.support.waiting import wait_for

BUILDER = User("agent-builder")
TEAM = """
[team]
name = "{name}"
{settings}
[agents.api]
command = ["sleep", "1000"]
[agents.builder]
command = ["sh", "-c", "env >env; exec sleep 1000"]
workspace = "{workspace}"
run_as = "{user}"
env = {{ ASKED = "for" }}
"""


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """With a user for agents that ann may use, and ben not."""
    system("useradd", "--create-home", "--shell", "/bin/bash", BUILDER.name)
    ann = User("ann")
    system("usermod", "--append", "--groups", BUILDER.name, ann.name)
    # Groups are read when a user's manager starts, and hers runs since the machine was booted.
    system("systemctl", "restart", f"user@{ann.uid}.service")
    ann.systemctl("start", "dbus.service")
    try:
        with shared_server(User("ann"), User("ben")):
            add_member(BUILDER, "corral-agents")
            host("setup", "--yes")
            BUILDER.systemctl("start", "dbus.service")
            system("corral", "member", "add", BUILDER.name, "--role", "agent", "--of", ann.name)
            yield
            system("loginctl", "disable-linger", BUILDER.name)
    finally:
        system("systemctl", "stop", f"user@{BUILDER.uid}.service", check=False)
        system("gpasswd", "--delete", "ann", BUILDER.name)
        system("userdel", "--remove", BUILDER.name)


@pytest.fixture
def server(one_server: None, ann: User, ben: User) -> Iterator[None]:
    yield
    leave(ann, ben)
    BUILDER.systemctl("stop", "corral-keeper.service", check=False)
    system("rm", "-rf", f"{BUILDER.home}/.local", f"{BUILDER.runtime_dir}/corral-host", f"/srv/corral/{BUILDER.name}")
    remove_keeper_place(BUILDER)
    system("rm", "-rf", f"{BUILDER.home}/.gitconfig", f"{BUILDER.home}/work")
    tidy(ann, ben)


def up(
    user: User,
    *words: str,
    run_as: str = BUILDER.name,
    workspace: str = "/home/agent-builder/work",
    settings: str = "",
    name: str = "shop",
    check: bool = True,
) -> Result:
    system("install", "-d", "-o", BUILDER.name, "-g", BUILDER.name, "-m", "0750", f"{BUILDER.home}/work")
    text = TEAM.format(name=name, user=run_as, workspace=workspace, settings=settings)
    return user.run("corral", "up", "--json", *words, cwd=spec(user, name, text), check=check)


def refused(done: Result) -> str:
    assert done.returncode == 4, done.stdout + done.stderr
    return str(json.loads(done.stderr)["error"]["message"])


def test_an_agent_is_run_by_the_user_that_is_named_and_by_its_keeper(server: None, ann: User, ben: User) -> None:
    up(ann)
    seen = {row["agent"]: row for row in rows(ben)}
    assert {name: (row["user"], row["state"]) for name, row in seen.items()} == {
        "api": ("ann", "running"),
        "builder": ("agent-builder", "running"),
    }
    for row, user in ((seen["api"], ann), (seen["builder"], BUILDER)):
        assert os.stat(f"/proc/{row['pid']}").st_uid == user.uid
        assert cgroup(row["pid"]).startswith(f"/user.slice/user-{user.uid}.slice/user@{user.uid}.service/")
    work = f"{BUILDER.home}/work"
    wait_for(lambda: os.path.exists(f"{work}/env") and os.path.getsize(f"{work}/env"), what="it said what it finds")
    with open(f"{work}/env") as file:
        found = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    assert (found["HOME"], found["USER"], found["ASKED"]) == (BUILDER.home, BUILDER.name, "for")
    assert str(ann.uid) not in found["XDG_RUNTIME_DIR"]
    assert not [name for name, value in found.items() if "/home/ann" in value], "nothing of ann's"
    ann.run("corral", "stop", "shop/builder")
    assert states(ann) == {("shop", "api"): "running", ("shop", "builder"): "stopped"}
    ann.run("corral", "restart", "shop/builder")
    assert set(states(ann).values()) == {"running"}
    receipt = down(ann, "shop")
    assert receipt["clean"], receipt
    assert not [one for one in BUILDER.processes() if one.name == "sleep"]


def test_what_it_runs_may_speak_to_the_daemon(server: None, ann: User) -> None:
    up(ann)
    seen = json.loads(ann.run("corral", "exec", "shop/builder", "--", "corral", "ps", "--json").stdout)
    assert {row["agent"] for row in seen} == {"api", "builder"}
    # As somebody who is not inside of the agent it is nobody, whatever else it may do on this host.
    assert BUILDER.run("corral", "ps", "--json", check=False).returncode == 4


def test_its_team_is_found_again_when_the_daemon_or_a_keeper_dies(server: None, ann: User) -> None:
    up(ann)
    before, mark = pids(ann), events(ann)[-1]["seq"]
    for user in (BUILDER, ann):
        pid = keeper(user)
        os.kill(pid, 9)
        wait_for(lambda: keeper(user) not in (0, pid), what="it is there again")  # noqa: B023
        wait_for(lambda: set(states(ann).values()) == {"running"}, what="all are found again")
        assert pids(ann) == before
    lost = [event["data"]["user"] for event in events(ann, mark) if event["event"] == "keeper.lost"]
    assert lost == [BUILDER.name, "ann"]
    assert daemon()


def test_who_may_use_it_is_said_by_an_administrator(server: None, ann: User, ben: User) -> None:
    assert "agent-builder belongs to ann" in refused(up(ben, name="mill", check=False))
    system("gpasswd", "--add", "ben", BUILDER.name)
    try:
        # What ran as it would be ann's, whoever started it.
        assert "agent-builder belongs to ann" in refused(up(ben, name="mill", check=False))
    finally:
        system("gpasswd", "--delete", "ben", BUILDER.name)
    assert "ben is a person's log-in" in refused(up(ann, run_as="ben", check=False))
    assert "dev is not a user for agents" in refused(up(ann, run_as="dev", check=False))
    assert "there is no user nobody-such" in refused(up(ann, run_as="nobody-such", check=False))
    assert "is an account of the system" in refused(up(ann, run_as="root", check=False))
    assert "is an account of the system" in refused(up(ann, run_as="corral", check=False))
    assert rows(ann) == []


def test_work_in_a_worktree_of_its_own_is_kept_and_named_for_as_long_as_it_is_there(
    server: None, ann: User, ben: User
) -> None:
    repository(ann, "shop")
    settings = 'repo = "."'
    up(ann, workspace="worktree", settings=settings)
    seen: dict[str, Any] = {row["agent"]: row for row in rows(ann)}
    path = f"/srv/corral/{BUILDER.name}/shop/builder"
    assert (seen["builder"]["workspace"], seen["api"]["workspace"]) == (path, "/srv/corral/ann/shop/api")
    assert os.stat(path).st_uid == BUILDER.uid
    for person in (ann, ben):
        assert person.run("touch", f"{path}/x", check=False).returncode != 0
    # Its own git takes what it finds there for its own, as well.
    wait_for(lambda: os.path.exists(f"{path}/env"), what="it has begun")
    assert BUILDER.run("git", "-C", path, "status", "--porcelain").stdout == "?? env\n"
    # Whose working tree it is, whoever asks: its own keeper looks there.
    who = json.loads(ann.run("corral", "who", "--json", "--team", "shop", "env").stdout)
    assert [(one["what"], one["agent"]) for one in who["traces"] if one["agent"] == "shop/builder"] == [
        ("changing", "shop/builder")
    ]
    assert who["unseen"] == []
    os.unlink(f"{path}/env")
    receipt = down(ann, "shop")
    assert receipt["clean"], receipt
    assert not os.path.exists(path)
    up(ann, workspace="worktree", settings=settings)
    # Work in it is kept, and named, for as long as it is there: with the agent gone, with the team gone.
    BUILDER.run("touch", f"{path}/new")
    ann.run("corral", "rm", "--force", "shop/builder")
    kept = os.listdir(f"{BUILDER.runtime_dir}/corral-host/launch/shop")
    assert [name for name in kept if name.startswith("builder.")] == [], "its own keeper has forgotten it"
    for _ in range(2):
        receipt = down(ann, "shop")
        assert receipt["clean"], receipt
        assert [kept["path"] for kept in receipt["kept"]] == [path], receipt
    assert ben.run("corral", "down", "--team", "shop", "--discard", check=False).returncode == 3
    done = system("corral", "down", "--team", "shop", "--discard", check=False)
    assert (done.returncode, "no team shop is up" in done.stderr) == (3, True), done
    receipt = down(ann, "shop", "--discard")
    assert [kept["path"] for kept in receipt["discarded"]] == [path], receipt
    assert not os.path.exists(path)
    assert ann.run("corral", "down", "--team", "shop", check=False).returncode == 3


def test_an_agent_does_not_go_over_to_another_user(server: None, ann: User) -> None:
    up(ann)
    assert "is run by agent-builder up to now" in refused(up(ann, "--restart-changed", run_as="ann", check=False))
    assert set(states(ann).values()) == {"running"}


def test_without_the_keeper_of_one_user_the_agents_of_the_others_are_as_they_are(server: None, ann: User) -> None:
    up(ann)
    manager = f"user@{BUILDER.uid}.service"
    system("systemctl", "stop", manager)
    try:
        wait_for(lambda: states(ann)["shop", "builder"] == "unknown", what="nothing is known of it")
        assert states(ann)["shop", "api"] == "running"
        (reason,) = [row["reason"] for row in rows(ann) if row["agent"] == "builder"]
        assert reason == "the helper of this host: the service manager of agent-builder does not run"
        ann.run("corral", "logs", "shop/api")
        ann.run("corral", "exec", "shop/api", "--", "true")
        ann.run("corral", "stop", "shop/api")
        assert states(ann) == {("shop", "api"): "stopped", ("shop", "builder"): "unknown"}
        ann.run("corral", "restart", "shop/api")
        assert states(ann)["shop", "api"] == "running"
        for words in (("stop", "--all", "--team", "shop"), ("down", "--team", "shop")):
            done = ann.run("corral", *words, check=False)
            assert (done.returncode, "agent-builder" in done.stderr) == (6, True), done
    finally:
        system("systemctl", "start", manager)
    down(ann, "shop")
