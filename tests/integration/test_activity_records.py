"""What agents write down of what they do, as `ps` tells it: whose transcript it is, and what becomes of it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_keeper
from tests.faults.support.teams import ps, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: Writes down each word that it is told, as the kind of a record.
PROGRAM = r"""
file=$KEPT/${1:-$CORRAL_AGENT}.jsonl
printf 'mine> '
while read -r word; do
    printf '{"type":"%s","time":"%s","cwd":"%s"}\n' "$word" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "$PWD" >> "$file"
    printf 'mine> '
done
"""
PROFILE = """\
name = "NAME"
title = "One that writes down what it does"
executable = "sh"
command = ["sh", "PROGRAM"]
ready = ['^mine>']
paste_pause = 0
note = "An example."

[resume]
words = ["{session}"]
BEGIN

[resume.transcripts]
roots = ["$KEPT"]
files = ["*.jsonl"]
session = '(?P<session>[a-z0-9-]+)\\.jsonl'
directory = "cwd"
time = "time"

[[resume.transcripts.record]]
says = "working"
where = { type = "asked" }

[[resume.transcripts.record]]
says = "idle"
where = { type = "answered" }
"""


def comes_to(instance: Instance, agent: str, word: str, evidence: str) -> dict[str, Any]:
    def seen() -> dict[str, Any] | None:
        now = ps(instance)[agent]
        return now if (now["activity"], now["activity_evidence"]) == (word, evidence) else None

    return wait_for(seen, 60, f"{agent} is {word} by {evidence}")


@pytest.fixture
def add(instance: Instance, own_directory: Path) -> Callable[..., dict[str, object]]:
    """Makes a program with a profile, and the keys of an agent that runs it."""
    Path(instance.home).mkdir(mode=0o700)
    Path(instance.home, "profiles").mkdir()
    (own_directory / "kept").mkdir()

    def make(name: str, *, begin: bool, workspace: str) -> dict[str, object]:
        program = own_directory / f"{name}.sh"
        program.write_text(PROGRAM)
        text = PROFILE.replace("NAME", name).replace("PROGRAM", str(program))
        Path(instance.home, "profiles", f"{name}.toml").write_text(
            text.replace("BEGIN", 'begin = ["{new}"]' if begin else "")
        )
        kept = {"KEPT": str(own_directory / "kept")}
        return {"command": ["sh", str(program)], "workspace": workspace, "env": kept, "restart": "on-failure"}

    return make


def test_a_transcript_tells_also_the_next_keeper_and_of_its_own_run_alone(
    instance: Instance, add: Callable[..., dict[str, object]]
) -> None:
    instance.spec(toml({"a": add("mine", begin=True, workspace="shared")}))
    instance.run("up")
    comes_to(instance, "a", "idle", "output")
    instance.run("send", "a", "asked")
    comes_to(instance, "a", "working", "transcript")
    instance.run("send", "a", "answered")
    idle = comes_to(instance, "a", "idle", "transcript")
    assert "transcript" in instance.run("ps", "--wide").stdout
    kill_keeper(instance)
    wait_for(lambda: "keeper.lost" in instance.run("events").stdout, 60, "the keeper is missed")
    assert comes_to(instance, "a", "idle", "transcript")["pid"] == idle["pid"]
    instance.run("send", "a", "asked")
    working = comes_to(instance, "a", "working", "transcript")
    os.kill(working["pid"], signal.SIGKILL)
    # The conversation goes on, and its last record is of a run that was killed.
    again = comes_to(instance, "a", "idle", "output")
    assert again["session"] == working["session"]
    instance.run("send", "a", "answered")
    comes_to(instance, "a", "idle", "transcript")


def test_what_may_be_of_somebody_else_is_not_read(
    instance: Instance, own_directory: Path, repo: Callable[..., Path], add: Callable[..., dict[str, object]]
) -> None:
    own = add("alone", begin=False, workspace="worktree")
    shared = add("among-others", begin=False, workspace="shared")
    instance.spec(toml({"own": own, "shared": shared}, repo=repo()))
    instance.run("up")
    for agent in ("shared", "own"):
        comes_to(instance, agent, "idle", "output")
        instance.run("send", agent, "asked")
    comes_to(instance, "own", "working", "transcript")
    assert (own_directory / "kept" / "shared.jsonl").exists()
    comes_to(instance, "shared", "idle", "output")


def test_a_protocol_tells_what_an_agent_without_a_terminal_does(
    instance: Instance, add: Callable[..., dict[str, object]]
) -> None:
    keys = add("mine", begin=True, workspace="shared")
    profile = Path(instance.home, "profiles", "mine.toml")
    with profile.open("a") as file:
        for says, now in (("working", "busy"), ("idle", "free")):
            file.write(f'[[protocol]]\nsays = "{says}"\nwhere = {{ now = "{now}" }}\n')
    Path(str(keys["command"][1])).write_text("exec cat\n")  # type: ignore[index]
    instance.spec(toml({"a": {**keys, "terminal": "none"}}))
    instance.run("up")
    instance.run("send", "a", '{"now": "busy"}')
    comes_to(instance, "a", "working", "protocol")
    instance.run("send", "a", "no record")
    instance.run("send", "a", '{"now": "free"}')
    comes_to(instance, "a", "idle", "protocol")
    instance.run("daemon", "stop")
    instance.run("daemon", "start")
    comes_to(instance, "a", "idle", "protocol")
