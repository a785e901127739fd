"""Messages to real coding agents, at whose terminal a person writes as well: their model sees each once, and whole."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.teams import toml
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.model.script import Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, OPENCODE, RealAgent
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.tmux]

#: To each agent. 300 take some minutes for each: CORRAL_REAL_MESSAGES=300.
MESSAGES = int(os.environ.get("CORRAL_REAL_MESSAGES", "12"))


def messages() -> list[str]:
    kinds = ["number {} please", "number {}\nin two lines", "number {} " + "long " * 300, "number {} größer 大きい 🐎"]
    return [kinds[number % len(kinds)].format(number) for number in range(MESSAGES)]


def _dense(text: str) -> str:
    return " ".join(text.split())


def _turns(agent: RealAgent, script: Script) -> list[str]:
    """What people said to the model, each turn once."""
    asked = [asked for asked in script.asked if asked.tools]
    if agent is not OPENCODE:
        # Of one that comes while the model speaks, an agent may make one turn with the next.
        return sorted({_dense(one.words) for one in asked})
    # What came meanwhile it tells one by one, and all of it in the next request, of which only the last are the words.
    told = json.loads(asked[-1].whole)["messages"] if asked else []
    said = [one["content"] for one in told if one["role"] == "user"]
    return [_dense(one if isinstance(one, str) else " ".join(part["text"] for part in one)) for one in said]


def _mentions(agent: RealAgent, script: Script) -> Callable[[str], bool]:
    turns = _turns(agent, script)
    return lambda text: any(text in words for words in turns)


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE], ids=lambda agent: agent.name)
def test_every_message_is_seen_once_by_the_model(agent: RealAgent, instance: Instance, own_directory: Path) -> None:
    project = own_directory / "project"
    subprocess.run(["git", "init", "-q", project], check=True)
    script, sent, written = Script([]), messages(), []
    with serving(script) as address:
        environment = agent.environment(own_directory / "home", project, address)
        instance.spec(
            toml({"a": {"command": [agent.package.installed()], "workspace": str(project), "env": environment}})
        )
        instance.run("up")
        # Before it reads keys, nobody's would count.
        instance.run("send", "--wait", "observed", "--timeout", "60", "a", "are you there?")

        def write(person: AtTheKeyboard, stop: threading.Event) -> None:
            number = 0
            while not stop.wait(4):
                number += 1
                written.append(f"mine is {number}.")
                person.type(written[-1], 0.02)
                time.sleep(0.5)  # longer than any program takes a burst of keys for a paste
                person.press("\r")

        attach = AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory)
        with attach as person:
            with person.meanwhile(write):
                for text in sent:
                    done = instance.run("send", "--wait", "observed", "--timeout", "60", "--json", "a", input=text)
                    assert json.loads(done.stdout)["state"] == "observed"
            wanted = {_dense(text) for text in [*sent, *written]}
            # Before the terminal goes: the last key may be on its way.
            wait_for(lambda: all(map(_mentions(agent, script), wanted)), 60, "the model has seen all of them")
        turns = _turns(agent, script)
        for text in wanted:
            assert sum(words.count(text) for words in turns) == 1, (text, turns)
        instance.run("down")
