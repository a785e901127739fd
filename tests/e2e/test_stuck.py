"""A real agent whose model hangs is stuck, however much turns and counts on its screen meanwhile."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import events, ps, toml
from tests.support.instance import Instance
from tests.support.model.script import Held, Rule, Say, Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, OPENCODE, PI, RealAgent
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

HANG = "please do some work"
#: A machine that does much else takes its time to start one of these.
SECONDS = 90.0


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE, PI], ids=lambda agent: agent.name)
def test_one_whose_model_hangs_is_stuck_and_moves_on_with_the_answer(
    agent: RealAgent, instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    done = threading.Event()
    home = own_directory / "home"
    with serving(Script([Rule(HANG, [Held(Say("It is done."), done)])])) as address:
        try:
            environment = agent.environment(home, Path(instance.home, "worktrees", "shop", "a"), address)
            own = {name: value for name, value in environment.items() if name not in ("PATH", "TERM")}
            command = [agent.package.installed()]
            team = {"a": {"command": command, "env": own, "stuck_after": "8s", "nudge": ""}}
            instance.spec(toml(team, repo=repo()))
            instance.run("up")
            wait_for(lambda: ps(instance)["a"]["activity"] == "idle", SECONDS, "it is idle")
            instance.run("send", "--wait", "observed", "--timeout", "60", "a", HANG)
            wait_for(lambda: _told(instance, "agent.stuck"), SECONDS, "it is found to be stuck")
            assert ps(instance)["a"]["activity"] == "working"
            assert ps(instance)["a"]["stuck_since"]
        finally:
            done.set()
        wait_for(lambda: _told(instance, "agent.unstuck"), SECONDS, "it moved on")
        assert ps(instance)["a"]["stuck_since"] is None


def _told(instance: Instance, name: str) -> list[dict[str, Any]]:
    return [event for event in events(instance) if event["event"] == name]
