"""An agent waits while its team has too little of its own memory limit left, and starts once there is enough."""

import json
import sys
from typing import Any

import pytest

from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: Holds on to 120 MB.
HOG = "held = b'x' * (120 << 20); print('full', flush=True); input()"


def ps(instance: Instance) -> dict[str, dict[str, Any]]:
    return {agent["agent"]: agent for agent in instance.json("ps")}


def test_memory_that_others_of_the_team_hold_is_waited_for(instance: Instance) -> None:
    instance.spec(
        '[team]\nname = "shop"\nmemory_max = "256M"\n[supervision]\nmemory_headroom = 60\n'
        f'[agents.hog]\ncommand = {json.dumps([sys.executable, "-c", HOG])}\nready = {{ log = "^full" }}\n'
        '[agents.b]\ncommand = ["cat"]\n'
    )
    instance.run("up", "hog")
    wait_for(lambda: ps(instance)["hog"]["ready"], what="hog holds its memory")
    if instance.json("stats", "-t", "shop")[-1]["memory_limit"] is None:
        pytest.skip("nothing accounts memory to a team on this host")
    assert instance.json("up", "b")["agents"][0]["action"] == "pending"
    reason = ps(instance)["b"]["reason"]
    assert reason.startswith("waits for memory")
    assert reason.endswith("of the team's limit are free, and memory_headroom is 60")
    instance.run("stop", "hog")
    wait_for(lambda: ps(instance)["b"]["state"] == "running", what="b runs")
