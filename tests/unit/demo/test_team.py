"""What a demo agent asks of its team, with a `corral` whose answers the test chooses."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.demo.inbox import Inbox
from corral.demo.running import GiveUp
from corral.demo.team import Task, Team

TASK = Task("t4", 5, "Fix it", "say: fixed")


class Office:
    """A team, the keys of its agent, and what was asked of `corral`, whose answers are given beforehand."""

    def __init__(self, directory: Path) -> None:
        self.fds = (*os.pipe(), *os.pipe())
        self.inbox = Inbox(self.fds[0], True, self.fds[2])
        self.told: list[str] = []
        self.team = Team(self.inbox, self.told.append)
        self._directory = directory
        self._answers = 0
        self.program = directory / "corral"
        self.program.write_text(f'#!/bin/sh\ncd {directory}\necho "$*" >>asked\n. ./answer-$(wc -l <asked)\n')
        self.program.chmod(0o755)

    def answers(self, **answer: object) -> None:
        """The next answer."""
        self._next(f"echo '{json.dumps(answer)}'")

    def fails(self, code: int, **error: object) -> None:
        """The next answer is an error."""
        self._next(f"echo '{json.dumps({'error': error})}' >&2; exit {code}")

    def waits(self) -> None:
        """The next answer never comes."""
        self._next("exec sleep 300")

    @property
    def asked(self) -> list[str]:
        return (self._directory / "asked").read_text().splitlines()

    def _next(self, script: str) -> None:
        self._answers += 1
        (self._directory / f"answer-{self._answers}").write_text(script)


@pytest.fixture
def office(own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    one = Office(own_directory)
    monkeypatch.setenv("CORRAL_PROGRAM", str(one.program))
    yield one
    for fd in one.fds:
        os.close(fd)


def test_a_task_is_claimed_and_reported_by_its_token(office: Office) -> None:
    office.answers(task="t4", token=5, title="Fix it", body="say: fixed", attempt=1)
    assert office.team.claim(60) == TASK
    for report in (office.team.done, office.team.release, lambda task: office.team.fail(task, "no network")):
        office.answers(task="t4")
        report(TASK)
    assert office.asked == [
        "task claim --wait 60 --json",
        "task done t4 --token 5 --json",
        "task release t4 --token 5 --json",
        "task fail t4 --token 5 --note=no network --json",
    ]


def test_a_file_that_is_free_is_held_at_once_and_given_back_once(office: Office) -> None:
    office.answers(lease="l7", token=7)
    office.team.hold("a.py", 60)
    office.answers(lease="l7")
    office.team.let_go()
    office.team.let_go()
    assert office.asked == ["lease acquire a.py --json", "lease release l7 --json"]
    assert office.told == []


def test_whom_it_waits_for_is_told(office: Office) -> None:
    office.fails(4, message="shop/b holds a.py", holder="shop/b")
    office.answers(lease="l7", token=7)
    office.team.hold("a.py", 2.5)
    assert office.told == ["waiting for a.py: shop/b was first"]
    assert office.asked[-1] == "lease acquire --wait 2.5 a.py --json"


def test_a_merge_relies_on_what_is_held(office: Office) -> None:
    for token in (7, 8):
        office.answers(lease=f"l{token}", token=token)
        office.team.hold("a.py", 60)
    office.answers(merge="q9", target="main", commit="0123456789abcdef")
    assert office.team.submit(60) == "q9: merged into main as 0123456"
    assert office.asked[-1] == "merge submit --wait 60 --token=7 --token=8 --json"
    office.answers(merge=None, branch="corral/shop/a")
    assert office.team.submit(60) == "corral/shop/a was merged before"


def test_what_corral_refuses_is_given_up_with_its_reason(office: Office) -> None:
    office.fails(3, message="there is no task")
    with pytest.raises(GiveUp, match=r"^there is no task$"):
        office.team.claim(0)


def test_a_wait_ends_when_the_person_interrupts(office: Office) -> None:
    office.waits()
    office.inbox.busy = True
    later = threading.Timer(0.3, os.write, (office.fds[1], b"\x1b"))
    later.start()
    with pytest.raises(GiveUp):
        office.team.claim(60)
    assert office.inbox.interrupted
    later.join()
