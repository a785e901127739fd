"""Joining terminals on a shared server: always by way of the keeper, whosever the agent is."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.support.people import leave, spec
from tests.lab.support.shared import shared_server, system, tidy
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
