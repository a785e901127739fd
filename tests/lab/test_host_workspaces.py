"""Worktrees on a shared server: their user's, and of a group as far as the file says so."""

import json
import os
import stat
from collections.abc import Iterator

import pytest

from tests.lab.support.people import AGENTS, down, leave, repository, rows, up
from tests.lab.support.shared import shared_server, system, tidy
from tests.lab.support.users import User

ROOT = "/srv/corral"


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """For all of this file, with a group that ann and ben are in."""
    system("groupadd", "devs")
    try:
        for name in ("ann", "ben"):
            system("usermod", "--append", "--groups", "devs", name)
        with shared_server(User("ann"), User("ben")):
            # Groups are read when a user's manager starts, and hers runs since the machine was booted.
            ann = User("ann")
            system("systemctl", "restart", f"user@{ann.uid}.service")
            ann.systemctl("start", "dbus.service")
            yield
    finally:
        system("groupdel", "devs")


@pytest.fixture
def server(one_server: None, ann: User, ben: User) -> Iterator[None]:
    yield
    leave(ann, ben)
    tidy(ann, ben)


def test_a_worktree_is_its_users_alone(server: None, ann: User, ben: User) -> None:
    repository(ann, "shop")
    up(ann, "shop", settings='repo = "."')
    for row in rows(ann):
        path = f"{ROOT}/ann/shop/{row['agent']}"
        assert (row["workspace"], os.readlink(f"/proc/{row['pid']}/cwd")) == (path, path)
        info = os.stat(path)
        assert (info.st_uid, stat.S_IMODE(info.st_mode)) == (ann.uid, 0o700)
        assert ann.run("git", "-C", path, "status", "--porcelain").stdout == ""
        for attempt in (("ls", path), ("touch", f"{path}/x"), ("cat", f"{path}/.git"), ("rm", "-rf", path)):
            assert ben.run(*attempt, check=False).returncode != 0, attempt
    receipt = down(ann, "shop")
    assert receipt["clean"], receipt
    assert receipt["kept"] == []
    assert os.listdir(f"{ROOT}/ann") == []


def test_the_hooks_of_git_there_ask_the_daemon_of_the_host(server: None, ann: User, ben: User) -> None:
    repository(ann, "shop")
    up(ann, "shop", settings='repo = "."')
    ann.run("corral", "lease", "acquire", "--team", "shop", "held")
    who = "-c user.name=ann -c user.email=ann@example.org"
    for file, as_agent, taken in (("free", "api", True), ("held", "api", False)):
        script = f"echo x >{file} && git add {file} && git {who} commit --quiet --message {file}"
        done = ann.run("corral", "exec", f"shop/{as_agent}", "--", "sh", "-c", script, check=False)
        assert (done.returncode == 0) == taken, done.stdout + done.stderr
        assert ("held" in done.stdout + done.stderr) != taken
    # A name alone is nothing here: hooks that do not run in the agent are not believed to.
    script = f"cd {ROOT}/ann/shop/api && echo x >more && git add more && git {who} commit --quiet --message more"
    claimed = ann.run("sh", "-c", script, env={"CORRAL_TEAM": "shop", "CORRAL_AGENT": "api"}, check=False)
    assert (claimed.returncode, "without its credential" in claimed.stderr) == (1, True), claimed.stderr
    assert down(ann, "shop", "--discard")["clean"]


def test_work_in_it_is_kept_and_found_again(server: None, ann: User) -> None:
    repository(ann, "shop")
    up(ann, "shop", settings='repo = "."')
    ann.run("touch", f"{ROOT}/ann/shop/api/new")
    receipt = down(ann, "shop")
    assert [kept["path"] for kept in receipt["kept"]] == [f"{ROOT}/ann/shop/api"]
    said = json.loads(up(ann, "shop", settings='repo = "."').stdout)
    assert any("worktree from last time" in note for note in said["notes"])
    assert down(ann, "shop", "--discard")["clean"]
    assert os.listdir(f"{ROOT}/ann") == []


@pytest.mark.parametrize(("access", "mode", "writes"), [("read", 0o2750, False), ("write", 0o2770, True)])
def test_a_group_gets_in_as_far_as_is_declared(
    server: None, ann: User, ben: User, cleo: User, access: str, mode: int, writes: bool
) -> None:
    directory = repository(ann, "shop")
    ann.run("sh", "-c", f"umask 077; echo words >{directory}/file; git -C {directory} add file")
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    ann.run("git", "-C", directory, *who, "commit", "--quiet", "--message", "file")
    up(ann, "shop", settings=f'repo = "."\ngroup = "devs"\ngroup_access = "{access}"')
    for agent in AGENTS:
        path = f"{ROOT}/ann/shop/{agent}"
        assert stat.S_IMODE(os.stat(path).st_mode) == mode
        assert ben.run("cat", f"{path}/file").stdout == "words\n"
        assert (ben.run("sh", "-c", f"echo more >>{path}/file", check=False).returncode == 0) == writes
        assert (ben.run("touch", f"{path}/bens", check=False).returncode == 0) == writes
        ann.run("sh", "-c", f"umask 077; mkdir {path}/d; echo late >{path}/d/late")
        assert ben.run("cat", f"{path}/d/late").stdout == "late\n", "whatever the umask of who wrote it"
        assert cleo.run("ls", path, check=False).returncode != 0, "she is not in the group"
    assert down(ann, "shop", "--discard")["clean"]


def test_a_group_that_the_user_is_not_in_is_refused(server: None, ann: User) -> None:
    repository(ann, "shop")
    done = up(ann, "shop", settings='repo = "."\ngroup = "daemon"\ngroup_access = "write"', check=False)
    assert done.returncode == 1
    assert "ann is not in the group daemon" in done.stdout + done.stderr
    assert down(ann, "shop")["clean"]
