"""What real coding agents ask becomes an entry of the inbox, and what a person answers is what they do."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_activity import ASKING, REMOVE, SECONDS, Watched, start
from tests.faults.support.teams import await_event, events, last_seq
from tests.support.instance import Instance
from tests.support.model.script import Rule, Say, Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, OPENCODE, RealAgent
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow


class Asked:
    """An agent that wants to remove a directory, each time that it is told to."""

    def __init__(self, watched: Watched, build: Path) -> None:
        self.instance, self.watched, self.build = watched.instance, watched, build

    def again(self) -> str:
        """Have it ask; the number of the entry."""
        self.build.mkdir(exist_ok=True)
        self.watched.comes_to("idle")
        after = last_seq(self.instance)
        self.instance.run("send", "a", REMOVE)
        await_event(self.instance, "inbox.opened", "a", after=after, seconds=SECONDS)
        # The title of the terminal may tell of it before the whole dialog is drawn.
        known = wait_for(
            lambda: [one for one in self.waiting() if "deny" in one["can"]], SECONDS, "it is known how to answer"
        )
        return str(known[0]["entry"])

    def waiting(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.instance.json("inbox")["entries"]
        return found

    def at_once(self, number: str, *words: str) -> list[int]:
        """The exit codes of several who answer at the same time."""
        codes: list[int] = []
        people = [
            threading.Thread(
                target=lambda word=word: codes.append(self.instance.run("inbox", word, number, check=False).returncode)
            )
            for word in words
        ]
        for one in people:
            one.start()
        for one in people:
            one.join()
        return sorted(codes)


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE], ids=lambda agent: agent.name)
def test_a_permission_is_asked_for_in_the_inbox_and_given_or_not(
    agent: RealAgent, instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    script = Script([Rule(REMOVE, [ASKING[agent].call, Say("So be it.")])])
    with serving(script) as address:
        watched = start(agent, instance, repo(), own_directory / "home", address, hooks=False)
        asked = Asked(watched, Path(instance.home, "worktrees", "shop", "a", "build"))

        number = asked.again()
        (entry,) = asked.waiting()
        assert (entry["kind"], entry["state"]) == ("permission", "open")
        assert {"approve", "deny"} <= set(entry["can"])
        assert any("rm -r build" in line for line in entry["lines"])
        assert asked.at_once(number, "approve", "approve", "approve") == [0, 4, 4]
        wait_for(lambda: not asked.build.exists(), SECONDS, "it goes on, and removes the directory")
        wait_for(lambda: not asked.waiting(), SECONDS, "nobody is asked any more")

        number = asked.again()
        watched.press(ASKING[agent].yes)
        wait_for(lambda: not asked.build.exists(), SECONDS, "what was pressed by hand counts")
        # An agent may do what it was told before it draws that: until then its question is there to be answered.
        wait_for(lambda: not asked.waiting(), SECONDS, "nobody is asked any more")
        code, error = instance.error("inbox", "deny", number)
        assert (code, error["state"]) == (4, "gone")

        instance.run("inbox", "deny", asked.again())
        wait_for(lambda: not asked.waiting(), SECONDS, "nobody is asked any more")
        assert asked.build.exists()

        given = [one["data"]["answer"] for one in events(instance) if one["event"] == "inbox.answered"]
        assert given == ["approve", "deny"]
        instance.run("down", "--discard")
