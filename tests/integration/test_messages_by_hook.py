"""Words that reach an agent by its hook: a real daemon, the hook as an agent runs it, and daemons that die."""

import json
from pathlib import Path
from typing import Any

import pytest

from corral.client.wire import request, target
from corral.places import Places
from tests.faults.support.population import kill_daemon
from tests.support.instance import Instance
from tests.support.sharing import Sharing
from tests.support.waiting import wait_for

TOOL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}
#: What Claude Code's composer looks like with something in it that nobody has submitted.
DRAFT = "──────────────\n❯ half a thought\n──────────────\n"


@pytest.fixture
def team(instance: Instance, own_directory: Path) -> Sharing:
    return Sharing(instance, own_directory / "project")


def context(stdout: str) -> str:
    return str(json.loads(stdout)["hookSpecificOutput"]["additionalContext"]) if stdout else ""


def unanswered(instance: Instance, identity: dict[str, str]) -> str:
    """What a hook of agent `a` is told that never says that it has handed it on."""
    about = [("event", "PostToolUse"), ("team", "shop"), ("agent", "a"), ("run", identity["CORRAL_RUN"])]
    places = Places(instance.home, instance.runtime)
    answer = request(places, "POST", target("/v1/hooks/claude", about), json.dumps(TOOL).encode())
    return context(json.loads(answer.body)["stdout"])


class TestMessages:
    """`corral msg`."""

    def state(self, team: Sharing) -> str:
        (sent,) = team.instance.json("msg", "ls", "--sent", "--agent", "b")["messages"]
        return str(sent["recipients"][0]["state"])

    def test_a_hook_tells_of_a_message_and_says_so(self, team: Sharing) -> None:
        team.instance.run("msg", "send", "--agent", "b", "a", "-s", "schema", "-m", "cents now")
        done = team.hook("a", "PostToolUse", TOOL)
        assert (done.returncode, done.stderr) == (0, "")
        assert "from shop/b, about “schema”: “cents now”" in context(done.stdout)
        assert self.state(team) == "injected"
        assert team.hook("a", "PostToolUse", TOOL).stdout == ""
        assert team.hook("b", "PostToolUse", TOOL).stdout == ""

    def test_that_it_was_told_is_known_after_the_daemon_was_killed(self, team: Sharing) -> None:
        team.instance.run("msg", "send", "--agent", "b", "a", "-m", "once")
        assert "“once”" in context(team.hook("a", "UserPromptSubmit", {"prompt": "x"}).stdout)
        kill_daemon(team.instance)
        team.instance.run("daemon", "start")
        assert team.hook("a", "UserPromptSubmit", {"prompt": "x"}).stdout == ""
        assert self.state(team) == "injected"

    def test_what_was_not_handed_on_when_the_daemon_was_killed_is_told_by_the_next(self, team: Sharing) -> None:
        team.instance.run("msg", "send", "--agent", "b", "a", "-m", "for sure")
        assert "“for sure”" in unanswered(team.instance, team.identity("a"))
        kill_daemon(team.instance)
        team.instance.run("daemon", "start")
        assert self.state(team) == "stored"
        assert "“for sure”" in context(team.hook("a", "PostToolUse", TOOL).stdout)
        assert self.state(team) == "injected"

    def test_a_refused_write_is_refused_and_nothing_else(self, team: Sharing) -> None:
        team.instance.run("msg", "send", "--agent", "b", "a", "-m", "later")
        team.instance.run("lease", "acquire", "--agent", "b", "docs/")
        assert "shop/b holds docs/" in team.may_write("a", "docs/x")
        assert self.state(team) == "stored"


@pytest.mark.tmux
class TestWordsThatCannotBeTyped:
    """`corral send`, while somebody has half a message in the composer."""

    @pytest.fixture
    def drafting(self, instance: Instance, own_directory: Path) -> Sharing:
        program = own_directory / "claude"
        program.write_text(f"#!/bin/sh\nprintf '%s' '{DRAFT}'\nexec cat >> {own_directory}/typed\n")
        program.chmod(0o755)
        return Sharing(instance, own_directory / "project", command=[str(program)])

    def waiting(self, team: Sharing, text: str, *words: str) -> str:
        sent = str(team.instance.json("send", "--wait", "queued", *words, "a", text)["message"])
        wait_for(lambda: self.receipt(team, sent)["reason"] == "somebody is writing there", 20, "it waits")
        return sent

    def receipt(self, team: Sharing, sent: str) -> dict[str, Any]:
        found: dict[str, Any] = team.instance.json("send", "--status", sent)
        return found

    def test_they_are_handed_over_after_a_tool_in_their_order_and_observed(
        self, drafting: Sharing, own_directory: Path
    ) -> None:
        first = self.waiting(drafting, "mind the tests")
        second = drafting.instance.json("send", "--wait", "queued", "a", "and the docs")["message"]
        assert drafting.hook("a", "UserPromptSubmit", {"prompt": "x"}).stdout == "", "then it is free in a moment"
        done = drafting.hook("a", "PostToolUse", TOOL)
        assert "mind the tests" in context(done.stdout)
        assert "“mind the tests”" in json.loads(done.stdout)["systemMessage"], "whoever sits there sees it as well"
        told = self.receipt(drafting, first)
        assert (told["state"], told["reason"]) == ("observed", "its hook told it: the keyboard was not free")
        wait_for(lambda: self.receipt(drafting, second)["reason"] == "somebody is writing there", 20, "it is its turn")
        assert "and the docs" in context(drafting.hook("a", "PostToolUse", TOOL).stdout)
        assert self.receipt(drafting, second)["state"] == "observed"
        assert drafting.hook("a", "PostToolUse", TOOL).stdout == ""
        assert (own_directory / "typed").read_text() == "", "nothing was typed"

    def test_commands_and_words_of_other_agents_wait_for_the_keyboard(self, drafting: Sharing) -> None:
        sent = self.waiting(drafting, "/compact")
        assert drafting.hook("a", "PostToolUse", TOOL).stdout == ""
        assert self.receipt(drafting, sent)["state"] == "queued"

    def test_of_what_a_hook_did_not_answer_for_nobody_can_tell_and_it_is_not_said_again(
        self, drafting: Sharing, own_directory: Path
    ) -> None:
        sent = self.waiting(drafting, "mind the tests")
        assert "mind the tests" in unanswered(drafting.instance, drafting.identity("a"))
        kill_daemon(drafting.instance)
        drafting.instance.run("daemon", "start")
        wait_for(lambda: self.receipt(drafting, sent)["state"] == "unknown", 20, "it is unknown")
        assert "did not say whether it has" in self.receipt(drafting, sent)["reason"]
        assert drafting.hook("a", "PostToolUse", TOOL).stdout == ""
        assert (own_directory / "typed").read_text() == ""
