"""Real coding agents go on with their conversations: the model is told of the past, or is not, as it was asked for."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import ps, toml
from tests.support import repos
from tests.support.instance import Instance
from tests.support.model.script import Asked, Rule, Say, Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, RealAgent
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

FIRST = "please remember the word walrus"
#: A machine that does much else takes its time to start one of these.
SECONDS = 90.0


class Conversing:
    """A team of one coding agent, `a`, that has been told `FIRST`."""

    def __init__(self, home: Path, instance: Instance, script: Script) -> None:
        self.home = home
        self.instance = instance
        self.script = script

    def heard(self, words: str, times: int = 1) -> Asked:
        """The request in which the model was told these words, said so many times by now."""
        found = wait_for(lambda: self._turns(words, times), SECONDS, f"the model was told {words!r}")
        assert len(found) == times
        return found[-1]

    def _turns(self, words: str, times: int) -> list[Asked] | None:
        found = self.script.turns_for(words)
        return found if len(found) >= times else None

    def say(self, name: str, words: str) -> Asked:
        """Say something to an agent; the request that comes of it."""
        self.instance.run("send", name, words)
        return self.heard(words)

    def is_kept(self, words: str) -> None:
        """Wait until the program has written these words down: what is in its memory alone dies with it."""

        def found() -> bool:
            return any(words in file.read_text(errors="replace") for file in self.home.rglob("*-*-*-*-*.jsonl"))

        wait_for(found, SECONDS, f"{words!r} is written down")

    def runs(self, name: str, **expected: object) -> dict[str, Any]:
        """Wait until `ps` says this of an agent that runs, and that it has a conversation."""

        def seen() -> dict[str, Any] | None:
            now = ps(self.instance).get(name, {})
            matches = all(now.get(key) == value for key, value in expected.items())
            return now if now.get("state") == "running" and now.get("session") and matches else None

        return wait_for(seen, SECONDS, f"{name} runs with a conversation and {expected}")


@pytest.fixture(params=[CLAUDE, CODEX], ids=lambda agent: agent.name)
def team(
    request: pytest.FixtureRequest, instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> Iterator[Conversing]:
    agent: RealAgent = request.param
    home = own_directory / "home"
    script = Script([Rule(FIRST, [Say("It is walrus.")])])
    with serving(script) as address:
        places = [Path(instance.home, "worktrees", "shop", name) for name in ("a", "b")]
        variables = agent.environment(home, places[0], address)
        _trust(agent, home, places[1])
        own = {name: value for name, value in variables.items() if name not in ("PATH", "TERM")}
        keys = {"command": [agent.package.installed()], "env": own, "prompt": FIRST, "restart": "on-failure"}
        instance.spec(toml({"a": keys}, repo=repo()))
        instance.run("up")
        conversing = Conversing(home, instance, script)
        conversing.heard(FIRST)
        conversing.is_kept("It is walrus.")
        conversing.runs("a", resumed=False)
        yield conversing


def _trust(agent: RealAgent, home: Path, directory: Path) -> None:
    """Have it not ask whether it may work in another directory as well."""
    if agent is CLAUDE:
        settings = home / ".claude.json"
        known = json.loads(settings.read_text())
        known["projects"][str(directory)] = {"hasTrustDialogAccepted": True}
        settings.write_text(json.dumps(known))
    else:
        with (home / ".codex" / "config.toml").open("a") as file:
            file.write(f'[projects."{directory}"]\ntrust_level = "trusted"\n')


def test_a_killed_agent_comes_back_with_its_conversation_and_a_fresh_one_without(team: Conversing) -> None:
    before = team.runs("a")
    os.kill(before["pid"], signal.SIGKILL)
    after = team.runs("a", resumed=True)
    assert after["session"] == before["session"]
    assert FIRST in team.say("a", "which word was it").whole
    assert len(team.script.turns_for(FIRST)) == 1, "its prompt was said again"
    team.instance.run("restart", "--fresh", "a")
    team.heard(FIRST, times=2)
    fresh = team.runs("a", resumed=False)
    assert fresh["session"] != before["session"]
    assert "which word was it" not in team.say("a", "and now for something else").whole


def test_a_fork_knows_the_past_and_goes_its_own_way(team: Conversing) -> None:
    source = team.runs("a")
    workspace = Path(source["workspace"])
    (workspace / "done.txt").write_text("done\n")
    repos.git(workspace, "add", "done.txt")
    repos.git(workspace, "commit", "--quiet", "--message=Done")
    made = team.instance.json("fork", "a", "b", "--prompt", "words for the fork")
    assert made["session"] == source["session"]
    assert FIRST in team.heard("words for the fork").whole
    fork = team.runs("b", resumed=True)
    assert fork["session"] != source["session"]
    assert (Path(fork["workspace"]) / "done.txt").exists()
    told = team.say("a", "words for the other").whole
    assert FIRST in told
    assert "words for the fork" not in told
    team.is_kept("words for the fork")
    # What the fork was told is its own from now on: it goes on with that, and not with what it was forked from.
    os.kill(fork["pid"], signal.SIGKILL)
    again = team.runs("b", resumed=True, restarts=1)
    assert again["session"] == fork["session"]
    told = team.say("b", "more for the fork").whole
    assert FIRST in told
    assert "words for the fork" in told
    assert "words for the other" not in told
