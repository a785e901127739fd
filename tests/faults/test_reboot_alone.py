"""A reboot while nobody looks after a team: a service brings back what ran. It is no person, so the rest stays so."""

import pytest

from tests.faults.support.population import assert_one_of_each
from tests.faults.support.teams import IDLE, await_event, await_states, events, ps, toml
from tests.faults.test_reboot import power_failure
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux


def _declare(instance: Instance, unattended: str, **more: object) -> None:
    agents = {"a": {"command": ["cat"]}, "b": {"command": IDLE}, **more}
    instance.spec(toml(agents) + f"[supervision]\nunattended = {unattended}\n")  # type: ignore[arg-type]


def _up(instance: Instance, unattended: str, **more: object) -> None:
    _declare(instance, unattended, **more)
    instance.run("up")


def _named(instance: Instance, name: str) -> list[str]:
    return [event["event"] for event in events(instance) if event["event"] == name]


@pytest.mark.parametrize("showing_up", [["send", "a", "hello"], ["up"]], ids=lambda words: words[0])
def test_a_team_that_was_paused_for_want_of_people_is_paused_again_and_wakes_for_a_person(
    instance: Instance, showing_up: list[str]
) -> None:
    _up(instance, '{ after = "4s", then = "pause" }')
    alone = await_event(instance, "team.unattended", stage="alone")
    power_failure(instance)
    assert "2 started" in instance.run("up", "--all", "--service").stdout
    await_event(instance, "team.unattended", after=alone["seq"], stage="alone")
    assert {name: agent["paused"] for name, agent in ps(instance).items()} == {"a": True, "b": True}
    assert _named(instance, "team.attended") == []
    started = [event for event in events(instance) if event["event"] == "team.up"][-1]
    assert started["who"]["agent"] == "service"

    instance.run(*showing_up)
    await_event(instance, "team.attended")
    wait_for(lambda: not any(agent["paused"] for agent in ps(instance).values()), what="both go on")
    assert_one_of_each(instance, {"a", "b"})


def test_a_team_that_was_stopped_for_want_of_people_stays_so_and_is_started_for_a_person(instance: Instance) -> None:
    _up(instance, '{ after = "2s", then = "stop" }', stopped={"command": IDLE})
    instance.run("stop", "stopped")
    await_event(instance, "team.unattended", stage="alone")
    power_failure(instance)
    # So that it does not count as left alone again before it was looked at below.
    _declare(instance, '{ after = "10m", then = "stop" }', stopped={"command": IDLE})
    instance.env["WHERE_FROM"] = "the service"
    said = instance.run("up", "--all", "--service").stdout
    assert "a stays stopped: nobody looked after its team" in said
    # What a person had stopped is declared: it was up before, and is again.
    await_states(instance, {"a": "stopped", "b": "stopped", "stopped": "running"})
    assert _named(instance, "team.attended") == []

    del instance.env["WHERE_FROM"]
    instance.run("send", "a", "hello")
    await_event(instance, "team.attended")
    await_states(instance, {"a": "running", "b": "running", "stopped": "running"})
    assert_one_of_each(instance, {"a", "b", "stopped"})
    # It was started with what the service had: whoever shows up brings no environment.
    assert instance.run("exec", "a", "--", "printenv", "WHERE_FROM").stdout == "the service\n"


def test_an_agent_whose_lifetime_is_over_is_not_started_by_a_service_and_is_by_a_person(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "lifetime": "1s"}, "b": {"command": IDLE}}))
    instance.run("up")
    await_states(instance, {"a": "stopped"})
    (a, b) = instance.json("up", "--service")["agents"]
    assert [(one["action"], one["state"]) for one in (a, b)] == [("keep", "stopped"), ("keep", "running")]
    assert {one["agent"]: one["action"] for one in instance.json("up")["agents"]} == {"a": "start", "b": "keep"}


def test_a_service_postpones_nothing_and_a_person_does(instance: Instance) -> None:
    _up(instance, '{ after = "120s", then = "stop", notice = "119s" }')
    await_event(instance, "team.unattended", stage="announced")
    instance.run("stop", "b", env={"CORRAL_TEAM": "shop", "CORRAL_AGENT": "a"})
    assert instance.json("up", "--service")["changed"]
    assert ps(instance)["a"]["notices"] != []
    instance.run("up")  # with nothing to do
    assert ps(instance)["a"]["notices"] == []
