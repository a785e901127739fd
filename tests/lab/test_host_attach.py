"""Joining terminals on a shared server: always by way of the keeper, whosever the agent is."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.lab.support.people import events, leave, spec
from tests.lab.support.shared import shared_server, system, tidy
from tests.lab.support.ssh import ssh_server
from tests.lab.support.users import User
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.waiting import wait_for

TEAM = """
[team]
name = "shop"
[agents.a]
command = ["bash", "--norc", "--noprofile"]
env = { HISTFILE = "/dev/null" }
[agents.plain]
command = ["sh", "-c", "echo some words; exec cat"]
terminal = "none"
"""

#: Connects, says so after one answer, and ends with 0 when it is hung up on.
IDLE = """
import socket
one = socket.socket(socket.AF_UNIX)
one.connect("/run/corral/daemon.sock")
one.sendall(b"GET /v1/agents HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
assert b" 200 " in one.recv(65536)
print("connected", flush=True)
try:
    while one.recv(65536):
        pass
except ConnectionResetError:
    pass
"""


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """For all of this file: it takes a while to set one up."""
    with shared_server(User("ann"), User("ben")):
        system("corral", "member", "add", "ben", "--role", "senior")  # who may look at ann's, and type there
        yield


@pytest.fixture
def shop(one_server: None, ann: User, ben: User) -> Iterator[None]:
    ann.run("corral", "up", cwd=spec(ann, "shop", TEAM))
    yield
    leave(ann, ben)
    tidy(ann, ben)


def at(user: User, *how: str) -> AtTheKeyboard:
    return AtTheKeyboard(user.argv("corral", "attach", *how, "shop/a"), dict(os.environ))


@contextmanager
def staying(user: User, *argv: str) -> Iterator["subprocess.Popen[str]"]:
    """Somebody who is logged in and runs this, for as long as it takes, and no longer than the block."""
    with user.start(*argv) as process:
        try:
            yield process
        finally:
            process.terminate()


def says_something(process: "subprocess.Popen[str]") -> bool:
    assert process.stdout is not None
    return bool(process.stdout.readline())


def is_over(person: AtTheKeyboard) -> bool:
    """True if the command has ended; whoever started it has not waited for it yet."""
    with open(f"/proc/{person.pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def seats(user: User) -> list[tuple[Any, Any]]:
    sessions = json.loads(user.run("corral", "session", "ls", "--json").stdout)
    return sorted((seat["who"], seat["mode"]) for session in sessions for seat in session["seats"])


def test_plain_attach_drives_and_with_r_it_watches(shop: None, ann: User, ben: User) -> None:
    with at(ann) as driver, at(ben, "-r") as watcher:
        wait_for(lambda: seats(ann) == [("ann", "drive"), ("ben", "observe")], 30, "both are there")
        driver.type("echo one-$((1+1))\r")
        wait_for(lambda: b"one-2" in watcher.shown, 30, "ben sees what ann does")
        watcher.type("echo never\r")
        driver.type("echo two-$((1+2))\r")
        wait_for(lambda: b"two-3" in watcher.shown, 30, "ben sees more")
        assert b"never" not in driver.shown


def test_over_ssh_it_is_the_same_and_a_lost_connection_harms_nothing(
    shop: None, ann: User, ben: User, own_directory: Path
) -> None:
    with ssh_server(own_directory) as ssh:

        def from_afar(who: str, how: str) -> AtTheKeyboard:
            return AtTheKeyboard([*ssh, "-tt", f"{who}@localhost", "corral", "attach", how, "shop/a"], dict(os.environ))

        pid = the_agents_pid(ann)
        with from_afar("ann", "--drive") as driver, from_afar("ben", "--observe") as watcher:
            wait_for(lambda: seats(ann) == [("ann", "drive"), ("ben", "observe")], 30, "both are there")
            driver.type("echo far-$((1+1))\r")
            wait_for(lambda: b"far-2" in watcher.shown, 30, "ben sees what ann does")
            os.kill(driver.pid, signal.SIGKILL)
            wait_for(lambda: seats(ann) == [("ben", "observe")], 30, "it is known that she is gone")
            # And leaves in the usual way, with what his terminal was before.
            watcher.press(b"\x02d")
            assert watcher.exit_code() == 0
        wait_for(lambda: seats(ann) == [], 30, "nobody is there any more")
        assert the_agents_pid(ann) == pid
        with from_afar("ann", "--drive") as driver:
            driver.type("echo again-$((1+1))\r")
            wait_for(lambda: b"again-2" in driver.shown, 30, "the agent is as it was")


def the_agents_pid(user: User) -> int:
    """Of `shop/a`, which must run."""
    (agent,) = (one for one in json.loads(user.run("corral", "ps", "--json").stdout) if one["agent"] == "a")
    assert agent["state"] == "running", agent
    return int(agent["pid"])


def test_root_moderates_and_drives_without_a_keeper(shop: None, ann: User, ben: User) -> None:
    with at(ann) as driver, at(ben, "--moderate"):
        wait_for(lambda: len(seats(ann)) == 2, 30, "both are there")
        session = json.loads(system("corral", "session", "mute", "--json", "shop/a", "ann").stdout)
        assert [seat["muted"] for seat in session["seats"] if seat["who"] == "ann"] == [True], session
        driver.type("echo un$((1+1))heard\r")
        with AtTheKeyboard(["corral", "attach", "--drive", "shop/a"], dict(os.environ)) as root:
            wait_for(lambda: ("root", "drive") in seats(ann), 30, "root is there")
            root.type("echo by-$((3+3))\r")
            wait_for(lambda: b"by-6" in driver.shown, 30, "root types")
        assert b"un2heard" not in driver.shown
        system("corral", "session", "end", "shop/a")
        wait_for(lambda: is_over(driver), 30, "it was ended")
    told = [event for event in events(ann) if event["event"] in ("session.muted", "session.ended")]
    assert {event["who"]["user"] for event in told[-2:]} == {"root"}, told


def test_nobody_is_given_the_way_to_a_tmux_socket(shop: None, ann: User, ben: User) -> None:
    for person in (ann, ben):
        for how in ((), ("-r",)):
            done = person.run("corral", "attach", *how, "--json", "shop/a", check=False)
            assert done.returncode == 4, done.stdout
            assert json.loads(done.stderr)["error"]["code"] == "refused"


def test_an_agent_without_a_terminal_is_followed_by_others_too(shop: None, ben: User) -> None:
    # Without a terminal of its own it runs until it is ended.
    followed = ben.run("timeout", "5", "corral", "attach", "shop/plain", check=False)
    assert (followed.returncode, "some words" in followed.stdout) == (124, True), followed.stderr


def test_who_is_no_member_any_more_is_hung_up_on(shop: None, ann: User, ben: User) -> None:
    """At the terminal that he drives, in the stream that he follows, and on a connection that he only has."""
    following = ("corral", "events", "--follow", "--json")
    try:
        with (
            at(ann) as watcher,
            at(ben) as driver,
            staying(ben, *following) as stream,
            staying(ann, *following) as other,
            staying(ben, "python3", "-c", IDLE) as idle,
        ):
            wait_for(lambda: len(seats(ann)) == 2, 30, "both are there")
            assert all(map(says_something, (stream, other, idle)))
            system("corral", "member", "rm", "ben")
            assert idle.wait(30) == 0
            assert "no member of this host any more" in stream.communicate(timeout=30)[0], "he is told why"
            wait_for(lambda: is_over(driver), 30, "he has his own terminal again")
            wait_for(lambda: b"no member of this host any more" in driver.shown, 30, "he is told why there, too")
            wait_for(lambda: [who for who, _ in seats(ann)] == ["ann"], 30, "he has left the agent's")
            assert other.poll() is None, "who is a member goes on"
            watcher.type("echo still-$((2+2))\r")
            wait_for(lambda: b"still-4" in watcher.shown, 30, "the agent is as it was")
    finally:
        system("corral", "member", "add", "ben", "--role", "senior")


def test_an_owner_is_told_of_a_guest_who_does_not_hold_up_the_end(one_server: None, ann: User, ben: User) -> None:
    """By ps, without any setting; and what is run to tell that the guest left does not keep the team from going."""
    try:
        ann.run("corral", "up", cwd=spec(ann, "shop", TEAM + '[notify]\ncommand = ["sleep", "20"]\n'))
        with at(ben, "--observe"):
            wait_for(lambda: "ben watches its terminal" in told_by_ps(ann), 30, "ann is told")
            recordings = ("corral", "replay", "--json", "shop/a")
            wait_for(lambda: json.loads(ann.run(*recordings).stdout), 30, "a shared server records by default")
            done = ann.run("corral", "down", "-t", "shop", "--json", check=False)
            assert (done.returncode, json.loads(done.stdout)["clean"]) == (0, True), done.stderr
    finally:
        leave(ann, ben)
        tidy(ann, ben)


def told_by_ps(user: User) -> str:
    done = user.run("corral", "ps")
    return done.stdout + done.stderr
