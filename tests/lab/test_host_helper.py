"""The privileged helper through real sudo: what it does for members, and that nobody gets more out of it."""

import contextlib
import grp
import json
import os
import pwd
import stat
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.lab.security.trap import TRICKS, caught, set_trap
from tests.lab.support.shared import HELPER, add_member, as_daemon, ask, ask_raw, refusal, shared_server, system, tidy
from tests.lab.support.users import User, cgroup
from tests.support.waiting import wait_for

START = '{"verb": "keeper_start", "user": "ann"}'


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """For all of this file: it takes a while to set one up."""
    with shared_server(User("ann")):
        yield


@pytest.fixture
def server(one_server: None) -> Iterator[None]:
    """A server with ann as its only member, to which whatever was done is undone."""
    yield
    tidy(User("ann"))


def active(user: User) -> str:
    return user.systemctl("is-active", "corral-keeper.service", check=False).stdout.strip()


def test_a_keeper_runs_in_the_users_own_manager_and_is_ready_when_the_answer_is_there(server: None, ann: User) -> None:
    code, answer = ask("keeper_start", "ann")
    assert (code, answer) == (0, {"ok": True, "uid": ann.uid, "directory": f"/run/corral/keepers/{ann.uid}"})
    pid = int(ann.systemctl("show", "--property=MainPID", "--value", "corral-keeper.service").stdout)
    assert os.stat(f"/proc/{pid}").st_uid == ann.uid
    assert cgroup(pid).startswith(f"/user.slice/user-{ann.uid}.slice/user@{ann.uid}.service/")
    assert cgroup(pid).endswith("/corral-keeper.service")
    info = os.stat(f"/run/corral/keepers/{ann.uid}")
    assert (info.st_uid, grp.getgrgid(info.st_gid).gr_name, stat.S_IMODE(info.st_mode)) == (ann.uid, "corral", 0o750)
    assert ask("keeper_start", "ann")[0] == 0, "as often as one likes"
    assert ask("keeper_stop", "ann")[0] == 0
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"), what="the keeper ended")
    assert active(ann) == "inactive"
    assert ask("keeper_stop", "ann")[0] == 0


#: A keeper that is never ready: whatever has it started waits for that.
STUCK = "[Service]\nExecStart=\nExecStart=/bin/sleep 60\nRestart=no\n"
ASKS_THE_MANAGER = b"/usr/bin/systemctl\0--user\0"


def asking_managers() -> dict[int, str]:
    """The processes that ask a user's manager for something: their uids, and where they are."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if (process / "cmdline").read_bytes().startswith(ASKS_THE_MANAGER):
                found[process.stat().st_uid] = cgroup(int(process.name))
    return found


def test_what_asks_a_users_manager_is_among_what_is_the_users(server: None, ann: User) -> None:
    """It runs as the user, who can have it wait, trace it, and make anything of it: not within the daemon's unit."""
    dropped = f"{ann.home}/.config/systemd/user/corral-keeper.service.d"
    ann.run("sh", "-c", f"mkdir -p {dropped}; printf '{STUCK}' >{dropped}/stuck.conf".replace("\n", "\\n"))
    ann.systemctl("daemon-reload")
    try:
        with ThreadPoolExecutor(1) as beside:
            asked = beside.submit(ask, "keeper_start", "ann")
            wait_for(lambda: asking_managers(), what="ann's manager is asked")
            place = f"/user.slice/user-{ann.uid}.slice/corral-keeper-start@{ann.uid}.service"
            assert asking_managers() == {ann.uid: place}
            ann.systemctl("stop", "corral-keeper.service")
            code, answer = asked.result()
        assert (code, answer["error"]["code"]) == (1, "failed"), answer
        assert asking_managers() == {}
    finally:
        ann.run("sh", "-c", f"rm -r {dropped}; rmdir -p --ignore-fail-on-non-empty {os.path.dirname(dropped)}")
        ann.systemctl("daemon-reload")
        system("systemctl", "reset-failed", f"corral-keeper-start@{ann.uid}.service", check=False)
    assert ask("keeper_start", "ann")[0] == 0
    assert ask("keeper_stop", "ann")[0] == 0


CONNECT = """
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.settimeout(20)
one.connect(sys.argv[1])
# A call of `hello`, as the daemon begins.
import msgspec
body = msgspec.msgpack.encode({"type": "call", "number": 1, "verb": "hello", "arguments": {}})
try:
    one.sendall(len(body).to_bytes(4, "big") + body)
    print("answered" if one.recv(1) else "hung up")
except ConnectionError:
    print("hung up")
"""


def connect(name: str, path: str) -> str:
    """What becomes of a call to the keeper by some user."""
    python = ["/opt/corral-venv/bin/python", "-c", CONNECT, path]
    return system("runuser", "-u", name, "--", *python, check=False).stdout.strip()


def test_the_keeper_answers_the_daemon_and_nobody_else(server: None, ann: User, ben: User) -> None:
    ask("keeper_start", "ann")
    path = f"/run/corral/keepers/{ann.uid}/keeper.sock"
    assert connect("corral", path) == "answered"
    wait_for(lambda: active(ann) == "inactive", what="it ends when the daemon has gone, since it has no team")
    ask("keeper_start", "ann")
    assert connect("ben", path) == "", "the directory lets nobody in"
    assert connect("ann", path) == "hung up", "not even the user whose it is: calls are the daemon's"
    os.chmod(os.path.dirname(path), 0o755)
    assert connect("ben", path) == "hung up", "nor who was let in"


def test_a_workspace_is_the_users_with_the_group_that_was_asked_for(server: None, ann: User, ben: User) -> None:
    made = "/srv/corral/ann/shop/api"
    assert ask("workspace", "ann", path="shop/api", group="corral-members", mode="0750")[1]["directory"] == made
    info = os.stat(made)
    owner = (pwd.getpwuid(info.st_uid).pw_name, grp.getgrgid(info.st_gid).gr_name, stat.S_IMODE(info.st_mode))
    assert owner == ("ann", "corral-members", 0o2750)
    ann.run("touch", f"{made}/work")
    assert ben.run("ls", made, check=False).returncode != 0
    assert ben.run("touch", f"{made}/not-mine", check=False).returncode != 0
    assert ask("workspace", "ann", path="shop/api", group="ann", mode="0700")[0] == 0
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o700
    assert os.path.exists(f"{made}/work")


def test_a_workspace_of_a_group_that_the_user_is_not_in_is_refused(server: None, ann: User) -> None:
    for group in ("ben", "root", "shadow", "corral", "corral-agents"):
        assert "is not in the group" in refusal("workspace", "ann", path="x", group=group, mode="0770")
    assert not os.path.exists("/srv/corral/ann/x")


def test_links_that_a_user_puts_in_the_way_lead_nowhere(server: None, ann: User) -> None:
    ask("workspace", "ann", path="shop/api", group="ann", mode="0700")
    shadow, sudoers = os.lstat("/etc/shadow"), os.lstat("/etc/sudoers.d")
    for target in ("/etc", "/etc/sudoers.d", "/etc/shadow", "/root"):
        link = "/srv/corral/ann/link"
        ann.run("ln", "-sfn", target, link)
        for path in ("link", "link/x"):
            code, answer = ask("workspace", "ann", path=path, group="ann", mode="0770")
            assert (code, answer["error"]["code"]) == (1, "failed")
    assert (os.lstat("/etc/shadow").st_mode, os.lstat("/etc/sudoers.d").st_mode) == (shadow.st_mode, sudoers.st_mode)
    assert not os.path.exists("/root/x")
    assert not os.path.exists("/etc/x")


#: Swaps NAME in DIRECTORY for a link to TARGET and back, at once and all the time, until it is told to STOP; says how
#: often it could. Its own link is beside it, as BESIDE.
RACE = """
import contextlib, ctypes, os, sys, time
directory, name, target, beside, stop = sys.argv[1:]
renameat2, exchange = ctypes.CDLL(None, use_errno=True).renameat2, 2
with contextlib.suppress(OSError):
    os.symlink(target, f"{directory}/{beside}")
one, other = (f"{directory}/{word}".encode() for word in (name, beside))
swaps, until = 0, time.monotonic() + 60
print("racing", flush=True)
while not os.path.exists(stop) and time.monotonic() < until:
    swaps += renameat2(-100, one, -100, other, exchange) == 0
    for moved in (one, other):  # what could not be swapped could perhaps be changed in another way
        with contextlib.suppress(OSError):
            os.chmod(moved, 0o777)
for word in (name, beside):
    if os.path.islink(f"{directory}/{word}"):
        os.unlink(f"{directory}/{word}")
print(swaps)
"""
#: What is raced for, by whom, whether they can swap it at all, and what the helper is asked for meanwhile.
RACES = {
    "a directory on the way": ("ann", "/srv/corral/ann/shop", "race", True, "shop/race/x"),
    "the first directory below one's own": ("ann", "/srv/corral/ann", "race", True, "race/x/y"),
    "the workspace itself": ("ann", "/srv/corral/ann/shop", "race", True, "shop/race"),
    "one's own place": ("ann", "/srv/corral", "ann", False, "shop/api"),
    "the place of one's keeper": ("ann", "/run/corral/keepers", "{uid}", False, ""),
    "the place of all keepers": ("corral", "/run/corral", "keepers", False, ""),
}
TRIES = 30


@pytest.mark.parametrize("name", RACES)
def test_who_swaps_directories_for_links_all_the_time_wins_nothing(
    server: None, ann: User, own_directory: Path, name: str
) -> None:
    who, directory, raced, can_swap, path = RACES[name]
    ask("keeper_directory", "ann")
    ask("workspace", "ann", path="shop/api", group="ann", mode="0700")
    if can_swap:
        ann.run("mkdir", f"{directory}/{raced}")
    prey, stop = own_directory / "prey", own_directory / "stop"
    prey.mkdir(mode=0o755)
    words = (directory, raced.format(uid=ann.uid), str(prey), "link", str(stop))
    racer = ("runuser", "-u", who, "--", "/usr/bin/python3", "-c", RACE, *words)
    with subprocess.Popen(racer, stdout=subprocess.PIPE, text=True) as racing:
        assert racing.stdout is not None
        try:
            assert racing.stdout.readline() == "racing\n"
            for _ in range(TRIES):
                code, answer = (
                    ask("workspace", "ann", path=path, group="ann", mode="0770")
                    if path
                    else ask("keeper_directory", "ann")
                )
                # Where nothing can be swapped nothing is in the way; else it depends on the moment.
                assert code == 0 or can_swap, answer
        finally:
            stop.touch()
            swaps = int(racing.stdout.read())
    assert (swaps > TRIES) == can_swap, swaps
    info = os.stat(prey)
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode), os.listdir(prey)) == (0, 0, 0o755, [])
    for made in (Path("/srv/corral/ann"), Path(f"/run/corral/keepers/{ann.uid}")):
        assert (made.is_symlink(), made.lstat().st_uid) == (False, ann.uid)
    for ours in ("/srv/corral", "/run/corral/keepers"):
        assert (os.path.islink(ours), os.lstat(ours).st_uid) == (False, 0)


def test_the_daemon_cannot_put_a_link_where_the_helper_makes_directories(server: None, ann: User) -> None:
    keepers = "/run/corral/keepers"
    for argv in (
        ["mv", keepers, "/run/corral/aside"],
        ["rmdir", keepers],
        ["ln", "-s", "/etc", f"{keepers}/{ann.uid}"],
    ):
        assert as_daemon(*argv).returncode != 0, argv
    # Even if root's own directory were weak, the helper would not go there.
    os.chmod(keepers, 0o777)
    assert "can be changed by others" in refusal("keeper_directory", "ann")
    os.chmod(keepers, 0o711)
    os.symlink("/etc", f"{keepers}/{ann.uid}")
    assert ask("keeper_directory", "ann")[0] == 1
    assert os.stat("/etc").st_uid == 0
    os.unlink(f"{keepers}/{ann.uid}")


@pytest.mark.parametrize("verb", ["keeper_start", "keeper_stop", "keeper_directory"])
def test_nothing_is_done_for_whoever_is_no_member(server: None, verb: str) -> None:
    for name in ("root", "corral", "daemon", "nobody", "systemd-network", "of-nobody"):
        assert refusal(verb, name)
    assert "neither in the group" in refusal(verb, "ben")


def test_a_system_account_or_a_second_name_of_root_is_refused_even_as_a_member(server: None) -> None:
    system("usermod", "--append", "--groups", "corral-members", "daemon")
    system("useradd", "--non-unique", "--uid", "0", "--groups", "corral-members", "--no-create-home", "toor")
    system("useradd", "--gid", "root", "--groups", "corral-members", "--no-create-home", "rootish")
    try:
        for name in ("daemon", "toor", "rootish"):
            assert refusal("keeper_start", name)
            assert refusal("linger", name, state="on")
    finally:
        for name in ("toor", "rootish"):
            system("userdel", "--force", name)
        system("gpasswd", "--delete", "daemon", "corral-members")


def test_linger_is_turned_off_only_if_it_was_turned_on_here(server: None, ann: User, cleo: User) -> None:
    add_member(cleo, "corral-agents")
    assert ask("linger", "cleo", state="on")[1]["changed"] is True
    assert cleo.lingers
    assert cleo.systemctl("is-system-running", "--wait").stdout.strip() == "running", "her manager runs by then"
    assert ask("linger", "cleo", state="on")[1]["changed"] is False
    assert ask("linger", "ann", state="off")[1]["changed"] is False
    assert ann.lingers
    assert ask("linger", "cleo", state="off")[1]["changed"] is True
    assert not cleo.lingers


def test_a_keeper_of_somebody_without_a_manager_cannot_be_started(server: None, cleo: User) -> None:
    add_member(cleo)
    wait_for(lambda: not os.path.exists(cleo.runtime_dir), what="her manager is not there")
    code, answer = ask("keeper_start", "cleo")
    assert (code, answer["error"]["code"]) == (6, "unavailable")
    assert "no service manager" in answer["error"]["message"]


@pytest.mark.parametrize(
    "request_",
    [
        "",
        "{",
        "[]",
        "\0",
        "x" * 5000,
        "[" * 4096,
        "é" * 100,
        START + START,
        START.replace("ann", "ann\\u0000"),
        START[:-1] + ', "user": "root"}',
        START[:-1] + ', "argv": ["sh"]}',
    ],
    ids=range(11),
)
def test_what_is_no_request_is_wrong_use_and_nothing_happens(server: None, ann: User, request_: str) -> None:
    code, answer = ask_raw(request_)
    assert (code, answer["error"]["code"]) == (2, "wrong_use")
    assert active(ann) == "inactive"


def test_who_never_ends_the_request_is_hung_up_on(server: None) -> None:
    ours, theirs = os.pipe()
    with subprocess.Popen(
        ["runuser", "-u", "corral", "--", "sudo", "-n", HELPER], stdin=ours, stdout=subprocess.PIPE, text=True
    ) as asking:
        os.close(ours)
        os.write(theirs, b'{"verb":')
        said, _ = asking.communicate(timeout=60)
        os.close(theirs)
    assert json.loads(said)["error"]["message"] == "it took too long"


@pytest.mark.parametrize("arguments", [["--help"], ["-c", "id"], ["keeper_start", "ann"], [""]])
def test_sudo_takes_no_arguments(server: None, arguments: list[str]) -> None:
    done = as_daemon("sudo", "-n", HELPER, *arguments, input=START)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr


@pytest.mark.parametrize(
    "options",
    [["-u", "ann"], ["-g", "shadow"], ["--preserve-env"], ["PYTHONPATH=/tmp"], ["-D", "/tmp"], ["-R", "/tmp"], ["-i"]],
    ids=str,
)
def test_sudo_takes_no_other_user_group_or_environment(server: None, options: list[str]) -> None:
    done = as_daemon("sudo", "-n", *options, HELPER, input=START)
    assert done.returncode != 0, done.stdout


def test_nobody_but_the_daemon_may_run_it(server: None, ann: User, dev: User) -> None:
    assert ann.run("sudo", "-n", HELPER, input=START, check=False).returncode == 1
    direct = ann.run(HELPER, input=START, check=False)
    assert json.loads(direct.stdout)["error"]["code"] == "refused"
    # Who may become root anyhow is told by the helper itself, and gains nothing by saying to be the daemon.
    may = dev.run("sudo", "-n", "SUDO_UID=0", HELPER, input=START, check=False)
    assert json.loads(may.stdout)["error"]["code"] == "refused"
    assert active(ann) == "inactive"


def test_nothing_of_the_callers_environment_has_an_effect(server: None, ann: User, own_directory: Path) -> None:
    """That each of the tricks has one on who lets it is tested where they are attacks: tests/lab/security."""
    trap = own_directory / "trap"
    set_trap(trap)
    tricks = {
        name: value.replace("$TRAP", str(trap)).replace("$PATH", "/usr/bin:/bin") for name, (value, _) in TRICKS.items()
    }
    environment = {
        **tricks,
        "PYTHONINSPECT": "1",
        "XDG_RUNTIME_DIR": str(trap),
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={trap}/bus",
        "SYSTEMD_EDITOR": str(trap / "sh"),
        "SYSTEMD_PAGER": str(trap / "sh"),
        "SUDO_UID": "0",
        "SUDO_USER": "root",
        "IFS": "/",
    }
    # By a second `env`, so that the daemon's user does not go into the trap before sudo is there.
    words = [f"{name}={value}" for name, value in environment.items()]
    asked = as_daemon("/usr/bin/env", "-C", str(trap), *words, "/usr/bin/sudo", "-n", HELPER, input=START)
    assert asked.returncode == 0, asked.stderr
    assert active(ann) == "active"
    assert caught(trap) == set()
    keeper = int(ann.systemctl("show", "--property=MainPID", "--value", "corral-keeper.service").stdout)
    assert str(trap).encode() not in Path(f"/proc/{keeper}/environ").read_bytes()


def test_what_it_did_and_what_it_refused_is_in_the_journal(server: None) -> None:
    cursor = system("journalctl", "--lines=0", "--show-cursor").stdout.split("-- cursor: ")[1].strip()
    ask("keeper_directory", "ann")
    refusal("keeper_start", "ben")

    def told() -> list[str]:
        said = system("journalctl", "--identifier=corral-helper", f"--after-cursor={cursor}", "--output=cat").stdout
        return said.splitlines()

    lines = wait_for(lambda: told() if len(told()) >= 2 else None, what="both are told")
    assert lines[0].startswith('keeper_directory ann: {"ok": true')
    assert lines[1].startswith('keeper_start ben: {"ok": false')


def test_a_crowd_that_asks_at_once_gets_its_answers(server: None, ann: User) -> None:
    request = '{"verb": "keeper_directory", "user": "ann"}'
    crowd = [
        subprocess.Popen(
            ["runuser", "-u", "corral", "--", "sudo", "-n", HELPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(10)
    ]
    assert [json.loads(one.communicate(request, timeout=120)[0])["ok"] for one in crowd] == [True] * 10
