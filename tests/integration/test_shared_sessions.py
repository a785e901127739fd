"""People who share an agent's terminal through its keeper: a real tmux, real terminals, real connections."""

import base64
import contextlib
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

TEAM = """
[team]
name = "shop"
[agents.a]
command = ["bash", "--norc", "--noprofile"]
workspace = "shared"
[agents.plain]
command = ["cat"]
terminal = "none"
workspace = "shared"
"""
#: What tmux is told to paint between two letters: any sequence.
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?>]*[a-zA-Z]|\(B|=|>|7|8)")


@pytest.fixture
def shop(instance: Instance) -> Iterator[Instance]:
    instance.spec(TEAM)
    instance.run("up")
    yield instance
    assert instance.json("down", "--grace", "1s")["clean"]


def at(shop: Instance, *how: str) -> AtTheKeyboard:
    return AtTheKeyboard(shop.argv("attach", *how, "a"), shop.environment(), shop.directory)


def sees(person: AtTheKeyboard, text: str) -> None:
    wait_for(lambda: text.encode() in _SEQUENCE.sub(b"", person.shown), 20, f"{text} is seen")


def seats(shop: Instance) -> list[dict[str, object]]:
    return [seat for session in shop.json("session", "ls") for seat in session["seats"]]


def modes(shop: Instance, *expected: str) -> None:
    wait_for(lambda: sorted(str(seat["mode"]) for seat in seats(shop)) == sorted(expected), 20, f"{expected} are there")


def reasons(shop: Instance) -> list[str]:
    """Why people left, as it is journalled."""
    told = shop.run("events", "--json", "--event", "session.left").stdout.splitlines()
    return [json.loads(line)["data"]["why"] for line in told]


def guests(shop: Instance) -> list[int]:
    """The tmux clients that show terminals to guests."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if (
                b"attach-session" in words
                and any(shop.runtime.encode() in word for word in words)
                and b"-C" not in words
            ):
                found.append(int(process.name))
    return found


def types(person: AtTheKeyboard, shop: Instance, word: str) -> None:
    """Have the shell write a file: what is on the screen could be an echo."""
    person.type(f"echo > {word}\r")


def arrived(shop: Instance, word: str) -> bool:
    return Path(shop.directory, word).exists()


def test_a_driver_types_and_an_observer_sees_it_and_can_never_type(shop: Instance) -> None:
    with at(shop, "--drive") as driver, at(shop, "--observe") as observer:
        modes(shop, "drive", "observe")
        observer.type("echo > never\r")
        types(driver, shop, "typed")
        wait_for(lambda: arrived(shop, "typed"), 20, "the driver's keys arrive")
        sees(observer, "echo > typed")
        assert not arrived(shop, "never")
    modes(shop)
    wait_for(lambda: not guests(shop), 20, "no client is left")


def test_an_observer_that_speaks_to_the_daemon_itself_cannot_type_either(shop: Instance) -> None:
    """The command line is not what keeps an observer from typing."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(os.path.join(shop.runtime, "daemon.sock"))
        head = (
            "POST /v1/sessions?team=shop&agent=a&mode=observe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        line = b'{"keys": "%s"}\n' % base64.b64encode(b"echo > never\r")
        raw.sendall(head.encode() + b"%x\r\n%s\r\n" % (len(line), line))
        raw.settimeout(20)
        told = b""
        while b'"refused":"you only watch"' not in told:
            told += raw.recv(65536)
    with at(shop, "--drive") as driver:
        types(driver, shop, "later")
        wait_for(lambda: arrived(shop, "later"))
    assert not arrived(shop, "never")


def test_ctrl_c_is_the_programs_and_ctrl_b_d_leaves_it_alone(shop: Instance) -> None:
    with at(shop, "--drive") as driver:
        modes(shop, "drive")
        driver.type("sleep 1000; echo > after-$?\r")
        wait_for(lambda: b"sleep" in driver.shown)
        wait_for(lambda: "sleep" in shop.run("exec", "a", "--", "ps", "-eo", "args").stdout, 20, "it sleeps")
        driver.press(b"\x03")
        types(driver, shop, "interrupted")
        wait_for(lambda: arrived(shop, "interrupted"), 20, "ctrl-c reached the program")
        driver.press(b"\x02d")
        modes(shop)
    assert shop.json("ps")[0]["state"] == "running"


def test_a_guest_cannot_give_commands_to_tmux(shop: Instance) -> None:
    with at(shop, "--drive") as driver:
        modes(shop, "drive")
        for keys in (b"\x02:", b"run-shell 'touch pwned'\r", b"\x02c", b"\x02&", b"\x1b[<2;5;5M"):
            driver.press(keys)
        driver.press(b"\x03\x03")
        types(driver, shop, "still-there")
        wait_for(lambda: arrived(shop, "still-there"))
    assert not arrived(shop, "pwned")


def test_the_window_follows_the_size_of_a_driver_and_not_that_of_an_observer(shop: Instance) -> None:
    with at(shop, "--drive") as driver, at(shop, "--observe") as observer:
        modes(shop, "drive", "observe")
        driver.resize(101, 31)

        def size() -> str:
            driver.type("stty size > size\r")
            path = Path(shop.directory, "size")
            return path.read_text().strip() if path.exists() else ""

        wait_for(lambda: size() == "30 101", 20, "the size follows")
        observer.resize(61, 21)
        sees(observer, "size")
        driver.type("stty size > size2\r")
        wait_for(lambda: arrived(shop, "size2"))
        assert Path(shop.directory, "size2").read_text().strip() == "30 101"


def test_who_is_there_is_shown_and_journalled(shop: Instance) -> None:
    with at(shop, "--drive") as driver:
        sees(driver, "drives")
        with at(shop, "--observe"):
            sees(driver, "watches")
        modes(shop, "drive")
    modes(shop)

    def told() -> list[str]:
        lines = shop.run("events", "-t", "shop", "--json").stdout.splitlines()
        return [entry["event"] for entry in map(json.loads, lines) if entry["event"].startswith("session.")]

    wait_for(lambda: told() == ["session.joined"] * 2 + ["session.left"] * 2, 20, "both are journalled")


def test_a_moderator_mutes_hands_over_and_ends(shop: Instance) -> None:
    with at(shop, "--drive") as driver, at(shop, "--moderate"):
        modes(shop, "drive", "moderate")
        seat = next(str(seat["seat"]) for seat in seats(shop) if seat["mode"] == "drive")
        shop.run("session", "mute", "a", seat)
        types(driver, shop, "muted")
        sees(driver, "has muted you")
        assert shop.json("session", "unmute", "a", seat)["seats"][0]["muted"] is False
        assert not arrived(shop, "muted")
        shop.run("session", "handover", "a", seat)
        types(driver, shop, "mine")
        wait_for(lambda: arrived(shop, "mine"))
        shop.run("session", "end", "a", seat)
        modes(shop, "moderate")
        sees(driver, "ended the session")
    assert shop.error("session", "mute", "a", "nobody")[0] == 3


def test_an_agent_without_a_terminal_cannot_be_shared(shop: Instance) -> None:
    code, error = shop.error("attach", "--observe", "plain")
    assert (code, error["code"]) == (4, "refused")


@pytest.mark.parametrize("how", ["--observe", "--drive"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_killed_client_harms_nothing_and_leaves_nothing(shop: Instance, how: str, number: int) -> None:
    with at(shop, how) as person:
        modes(shop, how.removeprefix("--"))
        os.kill(person.pid, number)
        modes(shop)
        wait_for(lambda: not guests(shop), 20, "no client is left")
    assert shop.json("ps")[0]["state"] == "running"
    assert reasons(shop) == ["the connection was lost"]


@pytest.mark.parametrize("how", ["--observe", "--drive"])
@pytest.mark.parametrize("what", ["daemon", "keeper"])
def test_a_killed_daemon_or_keeper_ends_the_session_and_nothing_else(shop: Instance, how: str, what: str) -> None:
    with at(shop, how) as person:
        modes(shop, how.removeprefix("--"))
        os.kill(int(Path(shop.runtime, f"{what}.lock").read_text()), signal.SIGKILL)
        wait_for(lambda: not guests(shop), 20, "no client is left")
        sees(person, "agents go on" if what == "daemon" else "keeper went away; the agent goes on")
        assert person.exit_code() == 6
    shop.run("daemon", "start")
    wait_for(lambda: reasons(shop), 20, "it is journalled")
    (why,) = reasons(shop)
    assert why.startswith("the daemon ended" if what == "daemon" else "the keeper went away")
    wait_for(lambda: shop.json("ps")[0]["state"] == "running", 30, "the agent goes on")
    with at(shop, "--drive") as person:
        types(person, shop, "again")
        wait_for(lambda: arrived(shop, "again"))


def test_an_agent_that_is_stopped_takes_the_session_with_it(shop: Instance) -> None:
    with at(shop, "--drive") as driver, at(shop, "--observe") as observer:
        modes(shop, "drive", "observe")
        shop.run("stop", "a")
        modes(shop)
        sees(driver, "a is stopped")
        sees(observer, "a is stopped")


def test_a_message_is_typed_while_somebody_drives(shop: Instance) -> None:
    with at(shop, "--drive"):
        modes(shop, "drive")
        shop.run("send", "--wait", "submitted", "a", "echo > by-message")
        wait_for(lambda: arrived(shop, "by-message"))
