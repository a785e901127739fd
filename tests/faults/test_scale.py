"""Two hundred agents in one team."""

import time
from pathlib import Path

import pytest

from tests.faults.support.population import assert_one_of_each, population, tmux_servers
from tests.faults.support.teams import down, pids, toml
from tests.faults.test_tmux_dies import alone
from tests.support.instance import Instance

_COUNT = 200
_NAMES = {f"a-{number}" for number in range(1, _COUNT + 1)}


@pytest.mark.slow
def test_two_hundred_agents_come_up_are_seen_and_go_without_a_trace(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": alone(Path(instance.directory)), "count": _COUNT}}))
    began = time.monotonic()
    result = instance.json("up")
    assert time.monotonic() - began < 30
    assert [agent["action"] for agent in result["agents"]] == ["start"] * _COUNT
    assert_one_of_each(instance, _NAMES)
    before = pids(instance)
    assert len(set(before.values())) == _COUNT
    assert instance.json("up")["changed"] is False
    instance.run("daemon", "stop")
    instance.run("daemon", "start")
    assert pids(instance) == before
    receipt = down(instance)
    assert len(receipt["stopped"]) == _COUNT
    assert population(instance) == {}
    assert tmux_servers(instance) == []
