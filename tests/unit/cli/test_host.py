"""`corral host`: what it says of a plan, what it asks, and whom it refuses. What it does is in tests/lab."""

import io
import json
import os
import sys

import pytest

from corral import wiring_doctor, wiring_host
from corral.cli import host
from corral.cli.command import Command
from corral.cli.parse import parse
from corral.domain import host_trouble
from corral.domain.diagnosis_facts import Records
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.host_plan import ADD_GROUP, Step
from corral.domain.host_seen import ServiceSeen
from corral.wiring_host import Plan

RESTARTED = ServiceSeen(active=True, starting=True, restarts=4)
STEP = Step(ADD_GROUP, "corral", "add the system group corral", "missing")


class Doing:
    """Hands that note what they are given."""

    def __init__(self) -> None:
        self.done: list[Step] = []

    def do(self, step: Step) -> None:
        self.done.append(step)


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Doing:
    """A host on which one group is missing."""
    doing = Doing()

    def plan(*_: object, **__: object) -> Plan:
        return Plan([STEP], ["the group corral"], doing)

    monkeypatch.setattr(wiring_host, "plan_setup", plan)
    monkeypatch.setattr(wiring_host, "plan_removal", plan)
    return doing


def run(command: Command, *words: str) -> int:
    assert command.run is not None
    return command.run(parse(command, list(words)))


def test_check_only_says_what_is_missing(hands: Doing, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotFoundError, match="1 step is missing") as missing:
        run(host.SETUP, "--check")
    assert missing.value.exit_code == 3
    assert "add the system group corral" in capsys.readouterr().out
    with pytest.raises(NotFoundError):
        run(host.SETUP, "--check", "--json")
    document = json.loads(capsys.readouterr().out)
    assert document == {"ready": False, "missing": [STEP.as_json()], "trouble": []}
    assert hands.done == []


def test_check_says_what_keeps_a_host_from_working_that_lacks_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(
        [],
        [],
        Doing(),
        trouble=[*host_trouble.of_service(RESTARTED), *host_trouble.of_policy("rules.rego:3: expected }", "chmod it")],
    )
    monkeypatch.setattr(wiring_host, "plan_setup", lambda *_, **__: plan)
    with pytest.raises(NotFoundError) as found:
        run(host.SETUP, "--check", "--json")
    assert "does not stay up: it was started again 4 times" in found.value.message
    assert "everything is denied: rules.rego:3" in found.value.message
    assert "journalctl --unit corral.service" in found.value.remedy
    document = json.loads(capsys.readouterr().out)
    assert (document["ready"], document["missing"], len(document["trouble"])) == (False, [], 2)
    assert document["trouble"][1]["remedy"].startswith("chmod it; sudo corral host setup --check")
    with pytest.raises(NotFoundError):
        run(host.SETUP, "--check")
    assert "nothing is missing" not in capsys.readouterr().out


def test_what_is_missing_and_what_else_keeps_a_host_from_working_are_told_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan([STEP], [], Doing(), trouble=host_trouble.of_service(RESTARTED))
    monkeypatch.setattr(wiring_host, "plan_setup", lambda *_, **__: plan)
    with pytest.raises(NotFoundError, match=r"1 step is missing; .*does not stay up"):
        run(host.SETUP, "--check")


def test_the_plan_is_shown_before_it_is_done(hands: Doing, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(host.SETUP, "--yes") == 0
    assert capsys.readouterr().out.startswith("the plan:\n  • add the system group corral  (missing)\n")
    assert hands.done == [STEP]


def test_without_anybody_to_ask_nothing_is_done(
    hands: Doing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    for words in ([], ["--json"]):
        with pytest.raises(WrongUseError, match="nobody is there to be asked"):
            run(host.SETUP, *words)
        with pytest.raises(WrongUseError, match="nobody is there to be asked") as refused:
            run(host.REMOVE, *words)
        assert "--check" not in refused.value.remedy, "which it does not have"
    assert hands.done == []


@pytest.mark.parametrize(
    ("answer", "done"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_a_person_is_asked(hands: Doing, monkeypatch: pytest.MonkeyPatch, answer: str, done: bool) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    if done:
        assert run(host.REMOVE) == 0
    else:
        with pytest.raises(RefusedError, match="nothing was done") as refused:
            run(host.REMOVE)
        assert "--yes" not in refused.value.remedy, "who says no is not told how not to be asked"
    assert bool(hands.done) == done


def test_what_is_left_is_named(hands: Doing, capsys: pytest.CaptureFixture[str]) -> None:
    run(host.REMOVE, "--yes")
    assert capsys.readouterr().out.endswith("left:\n  • the group corral\n")
    run(host.REMOVE, "--yes", "--json")
    assert json.loads(capsys.readouterr().out) == {"done": [STEP.as_json()], "left": ["the group corral"]}


@pytest.mark.parametrize(
    ("source", "remedy"), [("daemon", "(sudo corral down"), ("store", "(sudo systemctl start corral.service; sudo")]
)
def test_a_host_with_teams_is_not_removed_and_they_are_named(
    monkeypatch: pytest.MonkeyPatch, source: str, remedy: str
) -> None:
    known = Records(source=source, teams=frozenset(("shop", "cash")))
    monkeypatch.setattr(wiring_host, "_refuse_unless_root", lambda _: None)
    monkeypatch.setattr(wiring_host, "nothing_is_up", lambda _: False)
    monkeypatch.setattr(wiring_doctor, "records", lambda *_: known)
    with pytest.raises(RefusedError) as refused:
        wiring_host.plan_removal(purge=False, force=False)
    assert refused.value.message.endswith("any more: cash, shop")
    assert remedy in refused.value.remedy


def test_whoever_is_not_root_is_told_to_say_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    for command, words in ((host.SETUP, ["--check"]), (host.SETUP, ["--yes"]), (host.REMOVE, ["--yes"])):
        with pytest.raises(RefusedError) as refused:
            run(command, *words)
        assert refused.value.remedy == f"sudo corral {command.name}"
