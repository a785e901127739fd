"""Real coding agents are told of their messages by their own hooks: what their models read."""

import shlex
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.test_activity import SECONDS, start
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.model.script import Asked, Call, Held, Rule, Say, Script, Turn
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, RealAgent
from tests.support.sharing import Sharing
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

TASK, HELP = "please look around", "help me with this"
#: Somebody would have to permit Claude Code its commands, and to trust Codex's hooks; there is nobody here.
PERMITTED = replace(CLAUDE, once=("--allowedTools=Bash,Task", "-p"))
AGENTS = [PERMITTED, replace(CODEX, once=("exec", "--dangerously-bypass-hook-trust"))]


@pytest.fixture
def team(instance: Instance, own_directory: Path) -> Sharing:
    return Sharing(instance, own_directory / "project")


def work(
    team: Sharing, agent: RealAgent, home: Path, turns: Sequence[Turn], helping: Sequence[Turn] = ()
) -> list[Asked]:
    """Have the coding agent do these turns as `a` of the team; what its model was asked, and that of a helper."""
    team.instance.run("hook", "install", agent.name, str(team.project))
    script = Script([Rule(TASK, [*turns, Say("That is all.")]), Rule(HELP, [*helping, Say("Helped.")])])
    with serving(script) as address:
        done = agent.run(TASK, team.project, {**agent.environment(home, team.project, address), **team.identity("a")})
    assert done.returncode == 0, done.stderr
    return [asked for asked in script.asked if asked.tools]


def shell(agent: RealAgent, command: str) -> Call:
    if agent.name == "codex":
        return Call("exec_command", {"cmd": command})
    return Call("Bash", {"command": command, "description": "do it"})


def sends(team: Sharing, text: str, *, fails: bool = False) -> str:
    """A command by which `b` writes to `a` while that works."""
    # What is `a`'s own stays behind: with its credential nobody is taken for another.
    as_b = ["env", "-u", "CORRAL_RUN", "-u", "CORRAL_CREDENTIAL_FILE", "CORRAL_AGENT=b"]
    words = [*as_b, *team.instance.argv("msg", "send", "a", "-m", text)]
    return shlex.join(words) + (" && false" if fails else "")


def states(team: Sharing) -> list[str]:
    sent = team.instance.json("msg", "ls", "--sent", "--agent", "b")["messages"]
    return [message["recipients"][0]["state"] for message in sent]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_model_is_told_of_each_message_once_before_and_while_it_works(
    agent: RealAgent, team: Sharing, own_directory: Path
) -> None:
    team.instance.run("msg", "send", "--agent", "b", "a", "-m", "the early bird")
    team.instance.run("msg", "send", "--agent", "a", "b", "-m", "not for a")
    turns = [
        shell(agent, "true"),
        shell(agent, sends(team, "while you work")),
        shell(agent, sends(team, "though it failed", fails=True)),
    ]
    first, second, third, last = work(team, agent, own_directory / "home", turns)
    assert "“the early bird”" in first.whole
    assert "while you work" not in second.whole
    assert "“while you work”" in third.whole
    assert "“though it failed”" in last.whole
    for text in ("the early bird", "while you work", "though it failed"):
        assert last.whole.count(f"“{text}”") == 1, "told once"
    assert "not for a" not in last.whole
    assert "never an approval of anything" in first.whole
    assert states(team) == ["injected"] * 3


def test_a_helper_within_the_agent_is_not_told_and_the_agent_is(team: Sharing, own_directory: Path) -> None:
    ask_helper = Call("Task", {"description": "help", "prompt": HELP, "subagent_type": "general-purpose"})
    home, command = own_directory / "home", shell(PERMITTED, sends(team, "not for helpers"))
    asked = work(team, PERMITTED, home, [ask_helper], [command])
    helpers, own = ([one for one in asked if (TASK in one.whole) is owns] for owns in (False, True))
    assert len(helpers) == 2, "the helper went on after its tool"
    assert not any("“not for helpers”" in one.whole for one in helpers)
    assert "“not for helpers”" in own[-1].whole
    assert states(team) == ["injected"]


@pytest.mark.tmux
def test_words_that_wait_for_a_draft_are_handed_over_by_the_hook_of_an_agent_at_work(
    instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    go_on = threading.Event()
    script = Script([Rule(TASK, [Held(shell(CLAUDE, "echo one"), go_on), shell(CLAUDE, "echo two"), Say("Done.")])])
    with serving(script) as address:
        watched = start(CLAUDE, instance, repo(), own_directory / "home", address, hooks=True)
        instance.run("send", "--wait", "observed", "--timeout", "60", "a", TASK)
        watched.comes_to("working")
        with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as person:
            person.type("half a thought", 0.02)
            sent = instance.json("send", "--wait", "queued", "a", "mind the tests")["message"]

            def receipt() -> dict[str, str]:
                found: dict[str, str] = instance.json("send", "--status", sent)
                return found

            wait_for(lambda: receipt()["reason"] == "somebody is writing there", SECONDS, "it waits for the draft")
            go_on.set()
            instance.run("send", "--status", sent, "--wait", "observed", "--timeout", "60")
            assert receipt()["reason"] == "its hook told it: the keyboard was not free"
            watched.comes_to("idle")
            assert "half a thought" in instance.run("logs", "--screen", "a").stdout
            person.press("\r")
            wait_for(lambda: script.turns_for("half a thought"), SECONDS, "the draft is the person's, as it was")
        (last,) = script.turns_for("half a thought")
        assert last.whole.count("mind the tests") == 1
        assert "sent you these words with `corral send`" in last.whole
