"""A team that is started in several parts at once: nobody is lost, doubled or unheard, whoever dies on the way."""

from pathlib import Path

import pytest

from corral.supervise import launching
from tests.faults.support.population import assert_one_of_each, population
from tests.faults.support.teams import IDLE, down, events, states, toml
from tests.faults.test_killed_at_every_step import Deadly
from tests.support.instance import Instance
from tests.support.waiting import wait_for

#: Three parts.
_COUNT = launching._FIRST_PART + launching._PART + launching._LAST_PART
_NAMES = {f"a-{number}" for number in range(1, _COUNT + 1)}


def test_the_first_words_of_everybody_are_heard_and_every_start_is_in_the_journal(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": "echo I am $CORRAL_AGENT; exec sleep 86400", "count": _COUNT}}))
    instance.run("up")

    def unheard() -> list[str]:
        return [name for name in _NAMES if f"I am {name}\n" not in instance.run("logs", name).stdout]

    wait_for(lambda: not unheard(), 30, "everybody is heard")
    told = [(entry["event"], entry["agent"]) for entry in events(instance)]
    for event in ("agent.starting", "agent.started"):
        assert sorted(agent for kind, agent in told if kind == event) == sorted(_NAMES)
    assert all(told.index(("agent.starting", name)) < told.index(("agent.started", name)) for name in _NAMES)
    down(instance)


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", ["daemon.starting_written", "keeper.launch_files_written", "keeper.sessions_started", "daemon.launched"]
)
def test_whoever_dies_after_one_part_the_rest_follows(instance: Instance, own_directory: Path, step: str) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": _COUNT}}))
    deadly = Deadly(instance, own_directory, step)
    deadly.run("up")
    deadly.recover()
    instance.run("up", env=deadly.environment)
    assert_one_of_each(instance, _NAMES)
    down(instance)
    assert population(instance) == {}


def test_a_part_that_cannot_be_started_fails_alone(instance: Instance) -> None:
    instance.spec(
        toml(
            {
                "a": {"command": IDLE, "count": launching._FEW},
                "b": {"command": ["no-such-program"], "count": launching._FEW},
                "c": {"command": IDLE},
            }
        )
    )
    done = instance.run("up", check=False)
    assert done.returncode == 1, done.stderr
    by_state: dict[str, set[str]] = {}
    for name, state in states(instance).items():
        by_state.setdefault(state, set()).add(name.partition("-")[0])
    assert by_state == {"running": {"a", "c"}, "failed": {"b"}}
    down(instance)
