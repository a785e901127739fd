"""The daemon is killed while agents wait to be started again, and while a team stands still because it is alone.

Whoever comes next goes on where it was: it counts on, waits for the rest of a pause, and wakes a team for a person.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import assert_one_of_each, daemons, kill_daemon
from tests.faults.support.teams import IDLE, await_states, events, ps, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

#: Where a daemon may die on the way.
ACTING = ("daemon.unattended_written", "daemon.unattended_done")
RETURNING = ("daemon.attended_done",)


def _armed(instance: Instance, point: str) -> None:
    """Have the next daemon die there, once."""
    once = Path(instance.directory, "once")
    once.touch()
    instance.env["CORRAL_FAILPOINT"] = f"{point}:{once}"


def _named(instance: Instance, name: str) -> list[dict[str, Any]]:
    return [event for event in events(instance) if event["event"] == name]


def _has_ended(instance: Instance, times: int) -> bool:
    return len(_named(instance, "agent.exited")) >= times


def _stages(instance: Instance) -> list[str]:
    return [event["data"]["stage"] for event in _named(instance, "team.unattended")]


def test_a_crash_loop_is_counted_over_daemons_that_are_killed_and_ends_where_it_would_have(instance: Instance) -> None:
    restart = {"policy": "on-failure", "attempts": 4, "delay": "1s", "longest": "1s"}
    instance.spec(toml({"a": {"command": "exit 5", "restart": restart}}))
    instance.run("up", check=False)
    for ends in range(1, 4):
        wait_for(partial(_has_ended, instance, ends), 30, f"{ends} ends")
        kill_daemon(instance)
        instance.run("daemon", "start")
    await_states(instance, {"a": "failed"})
    agent = ps(instance)["a"]
    assert (agent["crashes"], agent["restarts"], agent["exit_code"]) == (5, 4, 5)
    assert len(_named(instance, "agent.starting")) == 5
    assert len(_named(instance, "agent.failed")) == 1


def test_a_pause_goes_on_over_a_daemon_that_is_killed_and_does_not_begin_anew(instance: Instance) -> None:
    restart = {"policy": "always", "delay": "8s", "longest": "8s"}
    once = "test -e up || { touch up; exit 1; }; exec sleep 86400"
    instance.spec(toml({"a": {"command": once, "restart": restart}}))
    instance.run("up", check=False)
    await_states(instance, {"a": "backoff"})
    since = ps(instance)["a"]["since"]
    # So often that a pause which began anew each time would not be over when the whole pause is.
    for _ in range(3):
        kill_daemon(instance)
        instance.run("daemon", "start")
        agent = ps(instance)["a"]
        assert agent["state"] != "backoff" or agent["since"] == since
    await_states(instance, {"a": "running"})
    assert ps(instance)["a"]["restarts"] == 1
    assert_one_of_each(instance, {"a"})


def _all_resumed(instance: Instance) -> None:
    """Both go on, and that is told after it is so. They may be alone again by the time at which this looks."""
    attended = wait_for(lambda: _named(instance, "team.attended"), 30, "it is told that somebody showed up")[0]
    resumed = {event["agent"]: event["seq"] for event in reversed(_named(instance, "agent.resumed"))}
    assert resumed.keys() == {"a-1", "a-2"}
    assert max(resumed.values()) < attended["seq"]


@pytest.mark.parametrize("point", ACTING)
def test_a_team_that_is_alone_is_paused_whatever_becomes_of_the_daemon_and_wakes_for_whoever_comes(
    instance: Instance, point: str
) -> None:
    _armed(instance, point)
    instance.spec(
        toml({"a": {"command": IDLE, "count": 2}}) + '[supervision]\nunattended = { after = "2s", then = "pause" }\n'
    )
    instance.run("up")
    wait_for(lambda: not daemons(instance), 30, "the daemon died on the way")
    instance.run("daemon", "start")
    wait_for(lambda: _stages(instance)[-1:] == ["alone"], 30, "the next one does it to its end")
    wait_for(lambda: all(agent["paused"] for agent in ps(instance).values()), 20, "all stand still")
    kill_daemon(instance)
    instance.run("daemon", "start")
    # A daemon that comes is nobody.
    assert all(agent["paused"] for agent in ps(instance).values())
    assert "nobody has looked after this team" in instance.run("ps").stdout
    instance.run("resume", "a-1")
    _all_resumed(instance)
    assert_one_of_each(instance, {"a-1", "a-2"})


def test_a_daemon_that_dies_while_it_wakes_a_team_leaves_the_rest_to_the_next(instance: Instance) -> None:
    instance.spec(
        toml({"a": {"command": IDLE, "count": 2}}) + '[supervision]\nunattended = { after = "2s", then = "pause" }\n'
    )
    instance.run("up")
    wait_for(lambda: "alone" in _stages(instance), 30, "it is alone")
    instance.run("daemon", "stop")
    _armed(instance, *RETURNING)
    instance.run("daemon", "start")
    instance.run("task", "add", "something", check=False)
    wait_for(lambda: not daemons(instance), 30, "the daemon died on the way")
    instance.run("daemon", "start")
    _all_resumed(instance)


def test_an_unhealthy_agent_whose_end_was_begun_is_ended_and_started_again_by_the_next_daemon(
    instance: Instance,
) -> None:
    _armed(instance, "daemon.stopping_written")
    check = {"command": "test ! -e ill", "every": "100ms", "failures": 1}
    restart = {"policy": "on-failure", "delay": "100ms"}
    instance.spec(toml({"a": {"command": IDLE, "check": check, "start_timeout": "200ms", "restart": restart}}))
    instance.run("up")
    wait_for(lambda: ps(instance)["a"]["health"] == "healthy", 30, "it is well")
    before = ps(instance)["a"]["pid"]
    ill = Path(instance.directory, "ill")
    ill.touch()
    wait_for(lambda: not daemons(instance), 30, "the daemon died on the way")
    ill.unlink()
    instance.run("daemon", "start")
    wait_for(lambda: ps(instance)["a"]["health"] == "healthy", 30, "it is well again")
    agent = ps(instance)["a"]
    assert (agent["restarts"], agent["crashes"]) == (1, 1)
    assert agent["pid"] != before
    assert_one_of_each(instance, {"a"})


def test_what_was_to_be_said_to_a_stuck_agent_at_once_is_not_said_by_the_next_daemon(instance: Instance) -> None:
    _armed(instance, "daemon.send_queued")
    heard = Path(instance.directory, "heard")
    # Output makes it work for three seconds, in which nothing more comes.
    command = ["sh", "-c", f"stty -echo; echo busy; cat > {heard}"]
    instance.spec(toml({"a": {"command": command, "stuck_after": "1s", "nudge": "Well?"}}))
    instance.run("up")
    wait_for(lambda: not daemons(instance), 30, "the daemon died with the nudge in line")
    instance.run("daemon", "start")
    failed = wait_for(lambda: _named(instance, "message.failed"), 30, "it is given up")
    assert failed[0]["data"]["reason"] == "it was for a moment that is over"
    instance.run("send", "a", "and now?")
    wait_for(lambda: heard.exists() and heard.read_text(), 20, "the agent has what was sent afterwards")
    assert heard.read_text() == "and now?\n"
    assert not _named(instance, "agent.nudged")
