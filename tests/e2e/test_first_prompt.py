"""The first prompt of a real coding agent is the first that it is told, whatever was sent while it asked for trust."""

import subprocess
from pathlib import Path

import pytest

from tests.faults.support.teams import toml
from tests.support.instance import Instance
from tests.support.model.script import Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.tmux]

FIRST, SECOND = "these words come first", "and these are the second"
SECONDS = 60


def test_what_is_sent_at_the_trust_dialog_comes_behind_the_first_prompt(
    instance: Instance, own_directory: Path
) -> None:
    project = own_directory / "project"
    subprocess.run(["git", "init", "-q", project], check=True)
    script = Script([])
    with serving(script) as address:
        # It trusts another directory than the one that it works in.
        own = CLAUDE.environment(own_directory / "home", own_directory / "other", address)
        agent = {"command": [CLAUDE.package.installed()], "workspace": str(project), "env": own, "prompt": FIRST}
        instance.spec(toml({"a": agent}))
        instance.run("up")
        asked = wait_for(
            lambda: [one for one in instance.json("inbox")["entries"] if "approve" in one["can"]], SECONDS, "it asks"
        )
        assert asked[0]["kind"] == "trust"
        message = instance.json("send", "--wait", "queued", "a", SECOND)["message"]
        waiting = "its first prompt comes first, and the agent waits for a person (trust)"
        wait_for(lambda: instance.json("send", "--status", message)["reason"] == waiting, SECONDS, "it waits for that")
        instance.run("inbox", "approve", str(asked[0]["entry"]))
        instance.run("send", "--status", message, "--wait", "observed", "--timeout", str(SECONDS))
        wait_for(lambda: any(SECOND in one.words for one in script.asked if one.tools), SECONDS, "its model has both")
    # Claude may make one turn of both, so that which comes first is told by the words.
    said = "\n".join(one.words for one in script.asked if one.tools)
    assert -1 < said.index(FIRST) < said.index(SECOND)
