"""Agents that are looked after: restarts that end, checks, lifetimes, agents that are stuck, teams that are alone."""

import os
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import DEMO, IDLE, await_states, events, ps, toml
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux


def _up(instance: Instance, agents: Mapping[str, Mapping[str, object]], supervision: str = "") -> None:
    instance.spec(toml(agents) + (f"\n[supervision]\n{supervision}\n" if supervision else ""))
    instance.run("up", check=False)


def _await_event(instance: Instance, name: str, agent: str = "", **data: object) -> dict[str, Any]:
    def found() -> dict[str, Any] | None:
        for event in events(instance):
            fits = all(event["data"].get(key) == value for key, value in data.items())
            if event["event"] == name and event["agent"] == agent and fits:
                return event
        return None

    return wait_for(found, 40, f"{name} of {agent or 'the team'} with {data}")


# Restarts


def test_a_crash_loop_ends_in_failed_with_reason_exit_and_last_words_and_restart_clears_it(instance: Instance) -> None:
    dying = "echo out of luck; exit 7"
    restart = {"policy": "on-failure", "attempts": 2, "delay": "50ms"}
    _up(instance, {"a": {"command": dying, "restart": restart}})
    await_states(instance, {"a": "failed"})
    agent = ps(instance)["a"]
    assert (agent["exit_code"], agent["restarts"], agent["crashes"]) == (7, 2, 3)
    assert agent["last_words"] == "out of luck"
    assert agent["reason"].startswith("exit 7; crash loop: it ended 3 times in a row")
    shown = instance.run("ps").stdout
    assert "crash loop" in shown
    assert "out of luck" in shown
    told = _await_event(instance, "agent.failed", "a")
    assert (told["data"]["exit_code"], told["data"]["last_words"]) == (7, "out of luck")
    assert told["data"]["reason"] == agent["reason"]
    assert [event["event"] for event in events(instance)].count("agent.started") == 3

    instance.run("restart", "a", check=False)
    # It is counted from the beginning: as many starts again before it is given up.
    wait_for(lambda: [e["event"] for e in events(instance)].count("agent.started") == 6, 40, "three more starts")
    await_states(instance, {"a": "failed"})


def test_each_pause_is_longer_than_the_one_before(instance: Instance) -> None:
    _up(
        instance,
        {
            "a": {
                "command": "exit 1",
                "restart": {"policy": "always", "attempts": 4, "delay": "200ms", "longest": "30s"},
            }
        },
    )
    await_states(instance, {"a": "failed"})
    journal = [event for event in events(instance) if event["agent"] == "a"]
    reasons = [event["data"]["next"] for event in journal if event["event"] == "agent.exited"]
    assert reasons == ["backoff"] * 4 + ["failed"]
    # 0.2, 0.4, 0.8 and 1.6 seconds, of which chance takes up to half.
    assert _seconds(journal[-1]) - _seconds(journal[0]) >= 1.5


def _seconds(event: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(event["time"]).timestamp()


# Checks


def test_a_check_runs_in_the_place_of_its_agent_and_is_none_of_its_commands(instance: Instance) -> None:
    command = 'test "$CORRAL_AGENT" = a && test "$PWD" = "$WHERE" && echo fine'
    env = {"WHERE": os.path.realpath(instance.directory)}
    check = {"command": command, "every": "100ms"}
    _up(instance, {"a": {"command": IDLE, "env": env, "check": check}, "b": {"command": IDLE}})
    _await_event(instance, "agent.healthy", "a")
    assert (ps(instance)["a"]["health"], ps(instance)["b"]["health"]) == ("healthy", "")
    assert instance.json("proc", "ls") == []
    assert not [event for event in events(instance) if event["event"].startswith("process.")]


def test_an_unhealthy_agent_is_told_and_restarted_by_its_policy(instance: Instance, own_directory: Path) -> None:
    well = own_directory / "well"
    well.touch()
    check = {"command": f"test -e {well} || {{ echo where is it; exit 4; }}", "every": "100ms", "failures": 2}
    policy = {"policy": "on-failure", "delay": "50ms", "attempts": 100}
    _up(
        instance,
        {"a": {"command": IDLE, "check": check, "start_timeout": "1s", "restart": policy}}
        | {"told": {"command": IDLE, "check": check, "start_timeout": "1s"}},
    )
    _await_event(instance, "agent.healthy", "a")
    _await_event(instance, "agent.healthy", "told")
    first = ps(instance)
    well.unlink()
    reason = _await_event(instance, "agent.unhealthy", "a")["data"]["reason"]
    assert "2 checks in a row failed" in reason
    assert reason.endswith("ended with exit code 4: where is it")
    _await_event(instance, "agent.stopped", "a", next="backoff")
    well.touch()
    wait_for(lambda: ps(instance)["a"]["health"] == "healthy", 40, "it is well again")
    again = ps(instance)
    assert again["a"]["pid"] != first["a"]["pid"]
    assert again["a"]["restarts"] > 0
    # One that is never restarted is told of, and left as it is.
    assert _await_event(instance, "agent.unhealthy", "told")["outcome"] == "failed"
    assert again["told"]["pid"] == first["told"]["pid"]


def test_one_that_never_comes_up_is_unhealthy_after_its_time_for_that(instance: Instance) -> None:
    check = {"command": "echo refused; exit 1", "every": "100ms"}
    agents = {"a": {"command": IDLE, "check": check, "start_timeout": "1s"}, "b": {"command": IDLE, "check": check}}
    _up(instance, agents)
    wait_for(lambda: ps(instance)["b"]["health"] == "starting", 40, "it starts up")
    (notice,) = ps(instance)["b"]["notices"]
    assert (notice.startswith("its check does not succeed yet"), notice.endswith(": refused")) == (True, True)
    reason = _await_event(instance, "agent.unhealthy", "a")["data"]["reason"]
    assert "no check has succeeded since it was started" in reason
    assert ps(instance)["a"]["state"] == "running"
    assert reason in ps(instance)["a"]["notices"]
    assert reason in instance.run("ps").stdout


def test_a_check_that_hangs_is_ended_and_leaves_nothing(instance: Instance, own_directory: Path) -> None:
    pids = own_directory / "pids"
    check = {"command": f"sleep 4321 & echo $! >> {pids}; wait", "every": "100ms", "timeout": "200ms", "failures": 1}
    _up(instance, {"a": {"command": IDLE, "check": check, "start_timeout": "200ms"}})
    assert "had not ended after 200ms" in _await_event(instance, "agent.unhealthy", "a")["data"]["reason"]
    first = int(pids.read_text().split()[0])
    wait_for(lambda: not os.path.exists(f"/proc/{first}"), 20, "what the check started is gone")


def test_nothing_is_checked_while_an_agent_is_paused(instance: Instance, own_directory: Path) -> None:
    seen = own_directory / "seen"
    check = {"command": f"echo x >> {seen}", "every": "100ms"}
    _up(instance, {"a": {"command": IDLE, "check": check}})
    _await_event(instance, "agent.healthy", "a")
    instance.run("pause", "a")
    before = seen.stat().st_size
    # A later check of another agent shows that time has passed.
    instance.spec(toml({"a": {"command": IDLE, "check": check}, "b": {"command": IDLE, "check": "true"}}))
    instance.run("up")
    _await_event(instance, "agent.healthy", "b")
    assert seen.stat().st_size <= before + 2  # one may have been under way
    assert ps(instance)["a"]["health"] == "healthy"


# Lifetimes


def test_a_lifetime_is_announced_then_the_agent_is_stopped_and_stays_so(instance: Instance) -> None:
    _up(instance, {"a": {"command": IDLE, "lifetime": "3s", "restart": "always"}, "b": {"command": IDLE}})
    _await_event(instance, "agent.expiring", "a")
    _await_event(instance, "agent.expired", "a")
    await_states(instance, {"a": "stopped", "b": "running"})
    names = [event["event"] for event in events(instance) if event["agent"] == "a"]
    assert names.index("agent.expiring") < names.index("agent.expired") < names.index("agent.stopping")
    assert ps(instance)["a"]["reason"] == "its lifetime of 3s is over"
    assert "shop/a stopped: its lifetime of 3s is over" in instance.run("ps").stdout


def test_a_lifetime_can_be_given_to_an_agent_that_runs(instance: Instance) -> None:
    _up(instance, {"a": {"command": IDLE}})
    pid = ps(instance)["a"]["pid"]
    _up(instance, {"a": {"command": IDLE, "lifetime": "1h"}})
    assert ps(instance)["a"]["pid"] == pid
    _up(instance, {"a": {"command": IDLE, "lifetime": "1s"}})
    await_states(instance, {"a": "stopped"})


# Stuck


def test_one_that_works_and_gets_nowhere_is_nudged_then_a_person_is_told_and_nothing_is_done_to_it(
    instance: Instance,
) -> None:
    # Output makes it work for three seconds, in which nothing more comes: longer than it may be without.
    silent = "echo busy; cat >/dev/null"
    _up(instance, {"a": {"command": ["sh", "-c", f"stty -echo; {silent}"], "stuck_after": "1s", "nudge": "Well?"}})
    nudged = _await_event(instance, "agent.nudged", "a")
    sent = _await_event(instance, "message.queued", "a")
    assert sent["who"]["user"] == "corral"
    assert sent["data"]["bytes"] == len("Well?")
    assert nudged["data"]["message"] == sent["data"]["message"]
    # It is said to have been told only once it was.
    assert _await_event(instance, "message.submitted", "a")["seq"] < nudged["seq"]
    assert ps(instance)["a"]["state"] == "running"


def test_one_that_cannot_be_nudged_is_never_told_later_and_a_person_hears_why(instance: Instance) -> None:
    # While it works, the demo agent has no place to type in.
    _up(instance, {"a": {"command": DEMO, "prompt": "wait: 8", "stuck_after": "2s", "nudge": "say: NUDGED"}})
    told = _await_event(instance, "agent.stuck", "a")
    assert told["data"]["nudged"] is False
    assert "it could not be nudged: it shows no place to type" in told["data"]["reason"]
    _await_event(instance, "inbox.opened", "a")
    (entry,) = instance.json("inbox")["entries"]
    assert (entry["kind"], entry["what"]) == ("stuck", told["data"]["reason"])
    assert any(told["data"]["reason"] in notice for notice in ps(instance)["a"]["notices"])

    _await_event(instance, "agent.unstuck", "a")
    # What is sent now comes next, and nothing before it.
    instance.run("send", "--wait", "observed", "a", "say: AFTERWARDS")
    wait_for(lambda: "AFTERWARDS" in instance.run("logs", "a").stdout, 20, "the agent has said it")
    assert "NUDGED" not in instance.run("logs", "a").stdout
    names = [event["event"] for event in events(instance) if event["agent"] == "a"]
    assert "agent.nudged" not in names
    assert names.count("message.submitted") == 1


def test_without_a_nudge_a_person_is_told_at_once_and_no_more_when_it_moves_on(instance: Instance) -> None:
    _up(instance, {"a": {"command": ["sh", "-c", "echo busy; sleep 86400"], "stuck_after": "1s", "nudge": ""}})
    told = _await_event(instance, "agent.stuck", "a")
    assert told["outcome"] == "failed"
    assert told["data"]["nudged"] is False
    # By its output alone nobody can tell for longer that it works: that ends it.
    unstuck = _await_event(instance, "agent.unstuck", "a")
    assert unstuck["seq"] > told["seq"]
    agent = ps(instance)["a"]
    assert (agent["state"], agent["stuck_since"], agent["notices"]) == ("running", None, [])


# Alone


def test_a_team_that_nobody_looks_after_is_announced_paused_and_wakes_when_somebody_sends(instance: Instance) -> None:
    _up(
        instance,
        {"a": {"command": ["sh", "-c", "cat"]}, "b": {"command": IDLE}, "c": {"command": IDLE}},
        'unattended = { after = "4s", then = "pause" }',
    )
    instance.run("pause", "c")
    announced = _await_event(instance, "team.unattended", stage="announced")
    assert announced["data"]["then"] == "pause"
    done = _await_event(instance, "team.unattended", stage="alone")
    assert done["data"]["agents"] == ["a", "b"]
    wait_for(lambda: all(agent["paused"] for agent in ps(instance).values()), 20, "all stand still")
    assert "nobody has looked after this team for 4s" in instance.run("ps").stdout
    # What an agent does is no sign of a person; nor is looking.
    agents_own = {"CORRAL_TEAM": "shop", "CORRAL_AGENT": "a"}
    instance.run("task", "add", "something", env=agents_own)
    instance.run("logs", "a")
    assert ps(instance)["a"]["paused"]

    instance.run("send", "a", "hello")
    back = _await_event(instance, "team.attended")
    assert back["data"]["agents"] == ["a", "b"]
    assert {name: agent["paused"] for name, agent in ps(instance).items()} == {"a": False, "b": False, "c": True}
    assert ps(instance)["a"]["notices"] == []


def test_whoever_does_something_in_time_is_not_alone(instance: Instance) -> None:
    _up(instance, {"a": {"command": IDLE}}, 'unattended = { after = "60s", then = "stop", notice = "59s" }')
    first = _await_event(instance, "team.unattended", stage="announced")
    assert "it is stopped, unless somebody attaches" in instance.run("ps").stdout
    instance.run("task", "add", "something")
    assert ps(instance)["a"]["notices"] == []
    wait_for(lambda: len(_stages(instance)) > 1, 30, "it is announced once more")
    assert _stages(instance) == ["announced", "announced"]
    assert first["data"]["seconds"] <= 59.0


def _stages(instance: Instance) -> list[str]:
    return [event["data"]["stage"] for event in events(instance) if event["event"] == "team.unattended"]


def test_a_team_that_is_stopped_when_it_is_alone_comes_back_with_whoever_shows_up(instance: Instance) -> None:
    _up(
        instance,
        {"a": {"command": IDLE}, "b": {"command": IDLE}, "left": {"command": IDLE}},
        'unattended = { after = "2s", then = "stop" }',
    )
    instance.run("stop", "left")
    _await_event(instance, "team.unattended", stage="alone")
    await_states(instance, {"a": "stopped", "b": "stopped", "left": "stopped"})
    instance.run("restart", "a")
    _await_event(instance, "team.attended")
    await_states(instance, {"a": "running", "b": "running", "left": "stopped"})


def test_notify_tells_and_does_nothing(instance: Instance) -> None:
    _up(instance, {"a": {"command": IDLE}}, 'unattended = { after = "1s", then = "notify" }')
    _await_event(instance, "team.unattended", stage="alone", then="notify")
    agent = ps(instance)["a"]
    assert (agent["state"], agent["paused"]) == ("running", False)
    assert agent["notices"] == ["nobody has looked after this team for 1s"]


def test_one_that_comes_up_by_itself_in_a_team_that_stands_still_stands_still_too(instance: Instance) -> None:
    restart = {"policy": "always", "delay": "6s", "longest": "6s"}
    _up(
        instance,
        {
            "a": {"command": IDLE},
            "late": {"command": "test -e up || { touch up; exit 1; }; exec sleep 86400", "restart": restart},
        },
        'unattended = { after = "1s", then = "pause" }',
    )
    _await_event(instance, "team.unattended", stage="alone")
    _await_event(instance, "agent.paused", "late")
    assert ps(instance)["late"]["state"] == "running"


def test_whoever_types_into_a_terminal_is_there_and_is_shown_a_line_when_they_are_not(instance: Instance) -> None:
    # The end of the second tells how time passes: longer than the team may be alone.
    agents: dict[str, dict[str, object]] = {"a": {"command": ["cat"]}, "clock": {"command": IDLE, "lifetime": "9s"}}
    _up(instance, agents, 'unattended = { after = "6s", then = "pause", notice = "3s" }')
    with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as person:

        def type_on(keyboard: AtTheKeyboard, stop: threading.Event) -> None:
            while not stop.wait(0.2):
                keyboard.press("x")

        with person.meanwhile(type_on):
            _await_event(instance, "agent.expired", "clock")
            assert "acting" not in _stages(instance)
            assert not ps(instance)["a"]["paused"]
        _await_event(instance, "team.unattended", stage="alone")
        assert b"as nobody is there: press a key if you are" in person.shown
        assert ps(instance)["a"]["paused"]
