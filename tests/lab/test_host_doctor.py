"""What `corral doctor` says on a shared server: to a member of its own part, to root of everybody's."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.support.doctors import Document, found, not_checked
from tests.lab.support.people import daemon, keeper, leave, rows, up
from tests.lab.support.shared import shared_server, system, tidy
from tests.lab.support.users import User
from tests.support.waiting import wait_for

#: What the machines of the lab lack, whatever is done.
LACKED = {"controllers"}


@pytest.fixture
def server(ann: User, ben: User) -> Iterator[None]:
    with shared_server(ann, ben):
        yield
        leave(ann, ben)
        tidy(ann, ben)


def doctor(user: User | None) -> Document:
    """As a member, or as root."""
    words = ("corral", "doctor", "--json")
    done: Any = system(*words, check=False) if user is None else user.run(*words, check=False)
    assert done.returncode in (0, 5), done.stderr
    document: Document = json.loads(done.stdout)
    return document


def wrong(document: Document) -> list[tuple[str, str]]:
    """What is not as it should be: check and subject."""
    return [
        (one["check"], one["subject"])
        for one in document["findings"]
        if one["severity"] != "ok" and one["check"] not in LACKED
    ]


def test_each_is_told_of_what_it_may_look_at_and_that_there_is_more(server: None, ann: User, ben: User) -> None:
    up(ann, "shop")
    up(ben, "mill")
    for person in (ann, ben, None):
        document = doctor(person)
        assert wrong(document) == [], document["findings"]
        assert ("other_users" in not_checked(document)) == (person is not None)
    # What a unit says at boot: of the teams that are to be seen, one's own.
    again = json.loads(ann.run("corral", "up", "--all", "--json").stdout)
    assert [team["team"] for team in again] == ["shop"]
    seen = {one["subject"] for one in found(doctor(ann), "scopes")}
    assert {"corral-shop-api.scope", "corral-shop-web.scope"} <= seen
    assert not any("mill" in subject for subject in seen)
    by_root = {(one["subject"], one["user"]) for one in found(doctor(None), "scopes")}
    assert {("corral-shop-api.scope", "ann"), ("corral-mill-api.scope", "ben")} <= by_root

    # A keeper that is stopped, a tmux server whose socket is gone, and one that is left of a team that is not up.
    stopped = keeper(ben)
    os.kill(stopped, signal.SIGSTOP)
    try:
        os.unlink(f"{ben.runtime_dir}/corral-host/tmux/mill.sock")
        document = doctor(None)
        assert found(document, "keeper", user="ben", pid=stopped), document["findings"]
        (ghost,) = found(document, "ghost_servers", user="ben")
        assert (ghost["team"], ghost["ours"], ghost["fixable"]) == ("mill", True, False)
        assert ghost["remedy"].startswith("by ben: ")
        assert not document["healthy"]
        assert found(doctor(ben), "ghost_servers", team="mill")
        assert wrong(doctor(ann)) == []
    finally:
        os.kill(stopped, signal.SIGCONT)
    ben.run("corral", "doctor", "--fix", check=False)
    wait_for(lambda: not found(doctor(None), "ghost_servers"), what="ben has healed what was his")


def test_without_the_daemon_it_is_said_what_could_not_be_told(server: None, ann: User) -> None:
    up(ann, "shop")
    stopped = daemon()
    os.kill(stopped, signal.SIGSTOP)
    try:
        for person in (ann, None):
            document = doctor(person)
            assert found(document, "daemon", pid=stopped)
            assert {"lost_sessions", "orphans", "worktrees"} <= not_checked(document).keys()
    finally:
        os.kill(stopped, signal.SIGCONT)
    # Nobody who belongs to a host has an instance of their own in its place because its daemon is away.
    system("systemctl", "stop", "corral.service")
    try:
        for words in (("ps",), ("up",), ("down", "--team", "shop"), ("events",)):
            done = ann.run("corral", *words, cwd=f"{ann.home}/shop", check=False)
            assert (done.returncode, "the daemon of this host" in done.stderr) == (6, True), done.stdout + done.stderr
        assert "lost_sessions" in not_checked(doctor(ann))
        # Nor has root, which is told what is up when it would remove the host.
        for words in (("ps",), ("up", "-f", f"{ann.home}/shop/corral.toml"), ("down", "--team", "shop")):
            done = system("corral", *words, check=False)
            assert (done.returncode, "sudo systemctl start corral.service" in done.stderr) == (6, True), done.stderr
        done = system("corral", "host", "remove", "--yes", check=False)
        assert (done.returncode, "any more: shop" in done.stderr) == (4, True), done.stderr
    finally:
        system("systemctl", "start", "corral.service")
    assert {row["state"] for row in rows(ann)} == {"running"}
