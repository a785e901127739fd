"""Who reads the output of a real agent on a terminal is told where its screen can be seen."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.teams import ps, toml
from tests.support.instance import Instance
from tests.support.model.script import Rule, Say, Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, OPENCODE, PI, RealAgent
from tests.support.waiting import wait_for
from tests.unit.cli.terminal import run_on_terminal

pytestmark = pytest.mark.slow

ASKED, ANSWERED = "please say hello", "Hello to the shop."
#: A machine that does much else takes its time to start one of these.
SECONDS = 90.0


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE, PI], ids=lambda agent: agent.name)
def test_logs_of_one_that_paints_point_at_its_screen(
    agent: RealAgent, instance: Instance, own_directory: Path, repo: Callable[..., Path]
) -> None:
    with serving(Script([Rule(ASKED, [Say(ANSWERED)])])) as address:
        environment = agent.environment(own_directory / "home", Path(instance.home, "worktrees", "shop", "a"), address)
        own = {name: value for name, value in environment.items() if name not in ("PATH", "TERM")}
        instance.spec(toml({"a": {"command": [agent.package.installed()], "env": own}}, repo=repo()))
        instance.run("up")
        wait_for(lambda: ps(instance)["a"]["activity"] == "idle", SECONDS, "it is idle")
        for _ in range(3):  # a short answer alone may not be painted over
            instance.run("send", "--wait", "observed", "--timeout", "60", "a", ASKED)
        wait_for(lambda: ANSWERED in instance.run("logs", "--screen", "a").stdout, SECONDS, "it answered")
        read = run_on_terminal(instance.argv("logs", "a"), cwd=instance.directory)[1]
        assert "shop/a repaints its screen: corral logs --screen shop/a" in read
        assert "repaints" not in instance.run("logs", "a").stderr
