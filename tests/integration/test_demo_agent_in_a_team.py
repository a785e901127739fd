"""Demo agents that work together: tasks, leases and the merge queue, with the commands that every agent has."""

import json
import sys
from pathlib import Path

import pytest

from tests.support import repos
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.repos import git
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

TEAM = f"""
[team]
name = "shop"
repo = "project"

[agents.a]
command = {json.dumps([sys.executable, "-m", "corral", "demo-agent"])}

[merge]
target = "main"
gates = ["! grep -r broken ."]
"""


@pytest.fixture
def project(instance: Instance, own_directory: Path) -> Path:
    where = repos.make(own_directory / "project")
    git(where, "branch", "--move", "main")
    instance.spec(TEAM)
    instance.run("up")
    return where


def said(instance: Instance) -> list[str]:
    return instance.run("logs", "-n", "all", "a").stdout.splitlines()


def says(instance: Instance, words: str) -> list[str]:
    """What it has said when it has said that."""
    wait_for(lambda: any(line.startswith(words) for line in said(instance)), 60, f"the agent says {words}")
    return said(instance)


def test_it_takes_a_task_waits_for_a_file_and_has_its_work_merged(instance: Instance, project: Path) -> None:
    lease = instance.json("lease", "acquire", "a.txt")["lease"]
    text = "hold a.txt: 60\nmerge: main\nappend a.txt: mine\ncommit: Write it\nsubmit: 60"
    task = instance.json("task", "add", "Write it", "--body", text)["task"]
    instance.run("send", "a", "claim: 60")
    lines = says(instance, "waiting for a.txt: ")
    assert f"claimed {task}: Write it" in lines
    assert not [line for line in lines if line.startswith("holding")]

    (project / "a.txt").write_text("theirs\n")
    git(project, "add", "-A")
    git(project, "commit", "--quiet", "--message=Theirs")
    instance.run("lease", "release", lease)

    assert f"{task} is done" in says(instance, "done.")
    assert (project / "a.txt").read_text() == "theirs\nmine\n"
    assert instance.json("lease", "ls")["leases"] == []
    assert instance.json("task", "show", task)["state"] == "done"
    assert [merge["state"] for merge in instance.json("merge", "ls", "--all")["merges"]] == ["merged"]


def test_what_does_not_go_in_is_told_and_others_may_try(instance: Instance, project: Path) -> None:
    text = "hold a.txt: 60\nwrite a.txt: broken\ncommit: Break it\nsubmit: 60"
    task = instance.json("task", "add", "Break it", "--body", text, "--backoff", "1h")["task"]
    instance.run("send", "a", "claim: 60")
    (why,) = [line for line in says(instance, "gave up: ") if line.startswith("gave up: ")]
    assert "failed" in why
    shown = instance.json("task", "show", task)
    assert (shown["state"], shown["notes"][0]["text"]) == ("delayed", why.removeprefix("gave up: "))
    assert instance.json("lease", "ls")["leases"] == []
    assert not (project / "a.txt").exists()


def test_a_task_is_given_back_by_whoever_is_interrupted(instance: Instance, project: Path) -> None:
    task = instance.json("task", "add", "Wait", "--body", "hold a.txt: 60\nwait: 300")["task"]
    instance.run("send", "a", "claim: 60")
    says(instance, "holding a.txt")
    with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as person:
        person.press("\x1b")
        says(instance, "interrupted.")
    assert instance.json("task", "show", task)["state"] == "ready"
    assert instance.json("lease", "ls")["leases"] == []
