"""What agents do, as `ps` tells it: by their screens, found again by the next keeper, and by a person's own rules."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_keeper
from tests.faults.support.teams import ps, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

OWN = """\
name = "mine"
title = "Mine"
executable = "sh"
command = ["sh", "mine.sh"]
ready = ['^mine>$']
paste_pause = 0
note = "An example."

[[screen]]
name = "asks"
says = "waiting"
about = "question"
lines = ['^Shall I\\?']
"""


@pytest.fixture
def team(instance: Instance) -> Instance:
    Path(instance.directory, "mine.sh").write_text("echo 'Shall I?'; exec cat\n")
    demo = {"command": [sys.executable, "-m", "corral", "demo-agent"]}
    mine = {"command": ["sh", "mine.sh"]}
    instance.spec(toml({"a": demo, "b": demo, "mine": mine}))
    instance.run("up")
    return instance


def comes_to(instance: Instance, agent: str, word: str, evidence: str, about: str = "") -> dict[str, Any]:
    def seen() -> dict[str, Any] | None:
        now = ps(instance)[agent]
        does = (now["activity"], now["activity_about"], now["activity_evidence"])
        return now if does == (word, about, evidence) else None

    return wait_for(seen, 60, f"{agent} is {word} by {evidence}")


def test_a_screen_says_what_an_agent_does_and_others_do_not_notice(team: Instance) -> None:
    before = comes_to(team, "b", "idle", "screen: idle")
    comes_to(team, "a", "idle", "screen: idle")
    team.run("send", "a", "wait: 3")
    working = comes_to(team, "a", "working", "screen: working")
    rested = comes_to(team, "a", "idle", "screen: idle")
    assert working["activity_since"] < rested["activity_since"]
    assert ps(team)["b"]["activity_since"] == before["activity_since"]
    assert comes_to(team, "mine", "idle", "output")["activity_since"]
    assert "waiting" not in team.run("ps").stdout


def test_the_next_keeper_finds_out_again(team: Instance) -> None:
    before = comes_to(team, "a", "idle", "screen: idle")
    team.run("send", "b", "wait: 600")
    comes_to(team, "b", "working", "screen: working")
    kill_keeper(team)
    wait_for(lambda: "keeper.lost" in team.run("events").stdout, 60, "the keeper is missed")
    assert comes_to(team, "a", "idle", "screen: idle")["pid"] == before["pid"]
    comes_to(team, "b", "working", "screen: working")
    comes_to(team, "mine", "idle", "output")


def test_a_persons_own_profile_counts_without_a_restart_and_one_with_a_mistake_harms_nobody(team: Instance) -> None:
    comes_to(team, "mine", "idle", "output")
    code, error = team.error("profile", "check", "mine")
    assert code == 3
    assert "no profile knows" in error["message"]
    profiles = Path(team.home, "profiles")
    profiles.mkdir()
    (profiles / "bad.toml").write_text("name = 1\n")
    (profiles / "mine.toml").write_text(OWN)
    checked = team.json("profile", "check", "mine")
    assert (checked["profile"], checked["matched"]) == ("mine", "asks")
    assert checked["rules"][0]["line"].strip() == "Shall I?"
    # Any look at the team takes it over; the slow sweep would, too.
    team.run("daemon", "stop")
    team.run("daemon", "start")
    comes_to(team, "mine", "waiting", "screen: asks", "question")
    assert "waiting (question)" in team.run("ps").stdout
    assert "screen: asks" in team.run("ps", "--wide").stdout
    listed = team.json("profile", "ls")
    assert [problem["file"] for problem in listed["problems"]] == [str(profiles / "bad.toml")]
    assert "mine" in [profile["name"] for profile in listed["profiles"] if profile["source"] == "own"]
    findings = team.json("doctor", check=False)["findings"]
    assert [found["subject"] for found in findings if found["check"] == "profiles"] == [str(profiles / "bad.toml")]
    assert "a profile is left out" in Path(team.home, "daemon.log").read_text()


def test_a_profile_can_be_tried_before_it_counts(team: Instance, own_directory: Path) -> None:
    file = own_directory / "mine.toml"
    file.write_text(OWN.replace("Shall I", "Should we"))
    comes_to(team, "mine", "idle", "output")
    done = team.run("profile", "check", "mine", "--file", str(file), check=False)
    assert done.returncode == 3
    assert "no line matches '^Should we" in done.stdout
    file.write_text(OWN)
    told = team.run("profile", "check", "mine", "--file", str(file)).stdout
    assert "✓ asks (waiting (question)): Shall I?" in told
    assert "takes a message: no, it waits for a person (question)\n  – ready '^mine>$': no line matches\n" in told


def test_whether_a_message_can_be_typed_is_told_as_it_is(team: Instance, own_directory: Path) -> None:
    comes_to(team, "a", "idle", "screen: idle")
    free = team.json("profile", "check", "a")
    assert (free["ready"], free["why_not_ready"]) == (True, "")
    assert [(place["key"], place["fits"]) for place in free["places"]] == [("ready", True), ("draft", True)]
    # A draft that fits no empty composer, in a way that only a screen can tell.
    shipped = team.run("profile", "show", "demo").stdout
    assert "draft = '^demo>(?P<text>(?: .*)?)$'" in shipped
    file = own_directory / "demo.toml"
    file.write_text(shipped.replace("^demo>(?P<text>(?: .*)?)$", "^(?:demo> (?P<text>.+))$"))
    held = team.json("profile", "check", "a", "--file", str(file))
    assert (held["ready"], held["why_not_ready"]) == (False, "it shows no place to type a message now")
    assert [(place["key"], place["fits"]) for place in held["places"]] == [("ready", True), ("draft", False)]
