"""`ps` says what real coding agents do: working, waiting for a permission, idle. A screen that changed fails here."""

import json
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from corral.agents import catalogue
from tests.faults.support.teams import ps, toml
from tests.support.instance import Instance
from tests.support.model.script import Call, Held, Rule, Say, Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, OPENCODE, PI, RealAgent
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

WORK, REMOVE, LONG = "please do some work", "please remove the build", "please go on for ever"
#: A machine that does much else takes its time to start one of these.
SECONDS = 90.0


@dataclass(frozen=True)
class Asking:
    """How an agent comes to ask for a permission, and the key that gives it."""

    call: Call
    yes: str


ASKING = {
    CLAUDE: Asking(Call("Bash", {"command": "rm -r build", "description": "Remove the build"}), "1"),
    CODEX: Asking(
        Call("exec_command", {"cmd": "rm -r build", "sandbox_permissions": "require_escalated", "justification": "?"}),
        "y",
    ),
    OPENCODE: Asking(Call("bash", {"command": "rm -r build", "description": "Remove the build"}), "Enter"),
}


def ask_before(agent: RealAgent, home: Path) -> None:
    """Have it ask for permissions, which most tests do not want."""
    if agent is CODEX:
        config = home / ".codex" / "config.toml"
        text = config.read_text().replace('approval_policy = "never"', 'approval_policy = "on-request"')
        config.write_text(text.replace("danger-full-access", "workspace-write"))
    elif agent is OPENCODE:
        config = home / ".config" / "opencode" / "opencode.json"
        settings = json.loads(config.read_text())
        config.write_text(json.dumps({**settings, "permission": {"bash": "ask"}}))


class Watched:
    """A team of one coding agent, `a`, that `ps` tells of."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def comes_to(self, word: str, about: str = "", evidence: str = "") -> dict[str, Any]:
        """Wait until `ps` says that it does that, and how it is known."""

        def seen() -> dict[str, Any] | None:
            now = ps(self.instance).get("a", {})
            does = (now.get("activity"), now.get("activity_about"))
            return now if does == (word, about) and now["activity_evidence"].startswith(evidence) else None

        try:
            return wait_for(seen, SECONDS, f"a is {word} {about} by {evidence}")
        except AssertionError as error:
            now = ps(self.instance).get("a", {})
            tried = self.instance.run("profile", "check", "a", check=False).stdout
            screen = self.instance.run("logs", "--screen", "a", check=False).stdout
            told = {key: value for key, value in now.items() if key.startswith("activity")}
            raise AssertionError(f"{error}\n{told}\n{tried}\n{screen}") from None

    def press(self, key: str) -> None:
        socket = Path(self.instance.runtime, "tmux", "shop.sock")
        subprocess.run(["tmux", "-S", socket, "send-keys", "-t", "=a:", key], check=True)


def without_records(agent: RealAgent, instance: Instance) -> None:
    """Have nobody read what the agent writes down, so that its screen has to tell all."""
    shipped = Path(catalogue.SHIPPED, f"{agent.name}.toml").read_text()
    Path(instance.home).mkdir(mode=0o700)
    profiles = Path(instance.home, "profiles")
    profiles.mkdir()
    (profiles / f"{agent.name}.toml").write_text(shipped.partition("[[resume.transcripts.record]]")[0])


def start(agent: RealAgent, instance: Instance, repo: Path, home: Path, address: str, *, hooks: bool) -> Watched:
    """The agent in a team, which asks for permissions."""
    variables = agent.environment(home, Path(instance.home, "worktrees", "shop", "a"), address)
    ask_before(agent, home)
    own = {name: value for name, value in variables.items() if name not in ("PATH", "TERM")}
    text = toml({"a": {"command": [agent.package.installed()], "env": own}}, repo=repo)
    instance.spec(text.replace("[team]\n", "[team]\nhooks = true\n") if hooks else text)
    instance.run("up")
    return Watched(instance)


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE, PI], ids=lambda agent: agent.name)
def test_what_an_agent_does_is_read_off_its_screen(
    agent: RealAgent, instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    done = threading.Event()
    rules = [Rule(WORK, [Held(Say("It is done."), done)])]
    if agent in ASKING:
        rules.append(Rule(REMOVE, [ASKING[agent].call, Say("It is removed.")]))
    if agent is not OPENCODE:
        without_records(agent, instance)
    with serving(Script(rules)) as address:
        watched = start(agent, instance, repo(), own_directory / "home", address, hooks=False)
        watched.comes_to("idle", evidence="screen: idle")
        instance.run("send", "a", WORK)
        watched.comes_to("working", evidence="screen: working")
        done.set()
        watched.comes_to("idle", evidence="screen: idle")
        if agent in ASKING:
            instance.run("send", "a", REMOVE)
            watched.comes_to("waiting", "permission", evidence="screen: permission")
            watched.press(ASKING[agent].yes)
            watched.comes_to("idle", evidence="screen: idle")


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, PI], ids=lambda agent: agent.name)
def test_a_transcript_says_more_than_a_screen_and_hides_no_dialog(
    agent: RealAgent, instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    done = threading.Event()
    rules = [Rule(WORK, [Held(Say("It is done."), done)])]
    if agent in ASKING:
        rules.append(Rule(REMOVE, [ASKING[agent].call, Say("It is removed.")]))
    with serving(Script(rules)) as address:
        watched = start(agent, instance, repo(), own_directory / "home", address, hooks=False)
        watched.comes_to("idle", evidence="screen: idle")
        # pi keeps no file before the first answer.
        if agent is PI:
            instance.run("send", "a", "please say something")
            watched.comes_to("idle", evidence="transcript")
        instance.run("send", "a", WORK)
        watched.comes_to("working", evidence="transcript")
        assert "transcript" in instance.run("ps", "--wide").stdout
        done.set()
        watched.comes_to("idle", evidence="transcript")
        if agent in ASKING:
            instance.run("send", "a", REMOVE)
            watched.comes_to("waiting", "permission", evidence="screen: permission")
            watched.press(ASKING[agent].yes)
            watched.comes_to("idle", evidence="transcript")
            # What it wrote before is known to whoever comes next.
            instance.run("daemon", "stop")
            instance.run("daemon", "start")
            watched.comes_to("idle", evidence="transcript")


@pytest.mark.parametrize(
    ("agent", "words", "evidence"),
    [
        (CLAUDE, ["-p", "--output-format", "stream-json", "--verbose"], "protocol"),
        (CLAUDE, ["-p"], "transcript"),
        (CODEX, ["exec", "--json"], "protocol"),
        (PI, ["-p", "--mode", "json"], "protocol"),
    ],
    ids=lambda value: value.name if isinstance(value, RealAgent) else None,
)
def test_an_agent_without_a_terminal_tells_what_it_does(
    agent: RealAgent,
    words: list[str],
    evidence: str,
    instance: Instance,
    own_directory: Path,
    repo: Callable[..., Path],
) -> None:
    done = threading.Event()
    with serving(Script([Rule(WORK, [Held(Say("It is done."), done)])])) as address:
        variables = agent.environment(own_directory / "home", Path(instance.home, "worktrees", "shop", "a"), address)
        own = {name: value for name, value in variables.items() if name not in ("PATH", "TERM")}
        command = [agent.package.installed(), *words, WORK]
        keys = {"command": command, "env": own, "terminal": "none", "stdin": False}
        instance.spec(toml({"a": keys}, repo=repo()))
        instance.run("up")
        Watched(instance).comes_to("working", evidence=evidence)
        done.set()
        wait_for(lambda: ps(instance)["a"]["state"] == "stopped", SECONDS, "it is done")


@pytest.mark.parametrize("agent", [CLAUDE, OPENCODE, PI], ids=lambda agent: agent.name)
def test_hooks_come_first_and_what_they_cannot_tell_is_seen(
    agent: RealAgent, instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    done, never = threading.Event(), threading.Event()
    rules = [Rule(WORK, [Held(Say("It is done."), done)]), Rule(LONG, [Held(Say("That was long."), never)])]
    if agent in ASKING:
        rules.append(Rule(REMOVE, [ASKING[agent].call, Say("It is removed.")]))
    with serving(Script(rules)) as address:
        watched = start(agent, instance, repo(), own_directory / "home", address, hooks=True)
        watched.comes_to("idle", evidence="screen: idle")
        instance.run("send", "a", WORK)
        watched.comes_to("working", evidence="hook UserPromptSubmit")
        done.set()
        watched.comes_to("idle", evidence="hook Stop")
        if agent in ASKING:
            instance.run("send", "a", REMOVE)
            watched.comes_to("waiting", "permission")
            watched.press(ASKING[agent].yes)
            watched.comes_to("idle", evidence="hook Stop")
        if agent is CLAUDE:
            instance.run("send", "a", LONG)
            watched.comes_to("working", evidence="hook UserPromptSubmit")
            # Nobody is told of an interruption: its hooks would have it work for ever.
            watched.press("Escape")
            watched.comes_to("idle", evidence="screen: idle")
        never.set()
