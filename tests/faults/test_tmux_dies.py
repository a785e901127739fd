"""The tmux server is killed under running agents: it is told, and there are never two of an agent."""

import time
from functools import partial
from pathlib import Path

import pytest

from tests.faults.support.population import assert_one_of_each, population, tmux_servers
from tests.faults.support.teams import IDLE, await_event, await_states, down, last_seq, ps, states, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.waiting import wait_for


def _kill_server(instance: Instance) -> None:
    (server,) = tmux_servers(instance)
    processes.kill(server)


def alone(directory: Path, *, prelude: str = "") -> list[str]:
    """A command that writes into `two` if another one of the same agent runs."""
    script = (
        f'{prelude}exec 9>"{directory}/$CORRAL_AGENT.lock"; '
        f'flock -n 9 || {{ echo "$CORRAL_AGENT" >>"{directory}/two"; exit 99; }}; exec sleep 86400'
    )
    return ["sh", "-c", script]


@pytest.mark.slow
def test_agents_whose_server_was_killed_are_told_and_started_again_as_declared(
    instance: Instance, own_directory: Path
) -> None:
    command = alone(own_directory)
    instance.spec(
        toml(
            {
                "never": {"command": command},
                "failure": {"command": command, "restart": "on-failure"},
                "always": {"command": command, "restart": "always"},
                # Deaf to the hang-up that comes with the end of a terminal.
                "deaf": {"command": alone(own_directory, prelude="trap '' HUP; "), "restart": "always"},
            }
        )
    )
    instance.run("up")
    before, seq = ps(instance), last_seq(instance)
    _kill_server(instance)
    for agent in before:
        exited = await_event(instance, "agent.exited", agent, after=seq)
        assert exited["outcome"] == "failed"
        assert exited["data"]["next"] == ("failed" if agent == "never" else "backoff")
    await_states(instance, {"never": "failed", "failure": "running", "always": "running", "deaf": "running"})
    now = ps(instance)
    assert "tmux" in now["never"]["reason"]
    assert {agent: now[agent]["restarts"] for agent in ("failure", "always", "deaf")} == {
        "failure": 1,
        "always": 1,
        "deaf": 1,
    }
    assert population(instance) == {agent: [now[agent]["pid"]] for agent in ("failure", "always", "deaf")}
    assert not (own_directory / "two").exists()
    instance.run("up")
    assert_one_of_each(instance, set(before))
    assert not (own_directory / "two").exists()
    assert len(tmux_servers(instance)) == 1
    down(instance)


def test_what_agents_say_after_their_server_was_killed_is_heard_from_each(instance: Instance) -> None:
    # They end one after the other, so the first are started again while the panes of others are still known.
    script = "trap 'sleep 0.$((${CORRAL_AGENT#w-} * 7)); exit' HUP; while :; do echo at $(date +%s%N); sleep 0.05; done"
    instance.spec(toml({"w": {"command": ["sh", "-c", script], "count": 8, "restart": "always"}}))
    instance.run("up")
    names, seq = sorted(ps(instance)), last_seq(instance)
    _kill_server(instance)
    for agent in names:
        await_event(instance, "agent.started", agent, after=seq)
    instance.json("ps")  # a look must not take anything from anybody
    now = time.time_ns()
    for agent in names:
        wait_for(partial(_said_after, instance, agent, now), what=f"{agent} is heard")
    down(instance)


def _said_after(instance: Instance, agent: str, moment: int) -> bool:
    last = instance.run("logs", agent, "-n", "1").stdout.split()
    return bool(last) and last[-1].isdecimal() and int(last[-1]) > moment


def test_survivors_of_a_dead_server_are_found_by_down(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"deaf": {"command": alone(own_directory, prelude="trap '' HUP; "), "count": 3}}))
    instance.run("up")
    seq = last_seq(instance)
    _kill_server(instance)
    await_event(instance, "agent.exited", "deaf-3", after=seq)
    assert set(states(instance).values()) == {"failed"}
    assert len(population(instance)) == 3  # alive, though nobody can reach them
    down(instance)
    assert population(instance) == {}


def test_an_agent_that_lives_on_without_its_terminal_is_not_said_to_have_ended(
    instance: Instance, own_directory: Path
) -> None:
    instance.spec(
        toml({"deaf": {"command": alone(own_directory, prelude="trap '' HUP; ")}, "obedient": {"command": IDLE}})
    )
    instance.run("up")
    pid, seq = ps(instance)["deaf"]["pid"], last_seq(instance)
    _kill_server(instance)
    told = await_event(instance, "agent.exited", "deaf", after=seq)["data"]["reason"]
    await_event(instance, "agent.exited", "obedient", after=seq)
    now = ps(instance)
    assert "nobody saw how" in now["obedient"]["reason"]
    for reason in (told, now["deaf"]["reason"]):
        assert "1 task of it runs on without" in reason
        assert "ended" not in reason
    assert "corral stop ends it" in now["deaf"]["reason"]
    assert population(instance) == {"deaf": [pid]}  # nobody ends it unasked
    instance.run("stop", "deaf")
    assert population(instance) == {}
    assert (ps(instance)["deaf"]["state"], ps(instance)["deaf"]["reason"]) == ("stopped", "")


def test_survivors_that_nobody_watched_are_found_by_the_next_daemon(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"deaf": {"command": alone(own_directory, prelude="trap '' HUP; ")}}))
    instance.run("up")
    instance.run("daemon", "stop")
    _kill_server(instance)
    instance.run("daemon", "start")
    await_states(instance, {"deaf": "failed"})
    assert "1 task of it runs on without" in ps(instance)["deaf"]["reason"]
    (pid,) = population(instance)["deaf"]
    survivor = processes.process(pid)
    assert survivor is not None
    processes.kill(survivor)
    instance.run("daemon", "stop")
    instance.run("daemon", "start")  # it looks before it answers
    assert "nobody saw how" in ps(instance)["deaf"]["reason"]


def test_survivors_are_gone_before_up_starts_their_successors(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"deaf": {"command": alone(own_directory, prelude="trap '' HUP; "), "count": 3}}))
    instance.run("up")
    seq = last_seq(instance)
    _kill_server(instance)
    await_event(instance, "agent.exited", "deaf-3", after=seq)
    instance.run("up")
    assert_one_of_each(instance, {"deaf-1", "deaf-2", "deaf-3"})
    assert not (own_directory / "two").exists()


def test_a_server_that_dies_while_nobody_watches_is_found_dead(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    instance.run("up")
    instance.run("daemon", "stop")
    _kill_server(instance)
    instance.run("daemon", "start")
    await_states(instance, {"a-1": "failed", "a-2": "failed"})
    instance.run("up")
    assert_one_of_each(instance, {"a-1", "a-2"})


def test_a_server_whose_socket_was_removed_is_not_taken_for_gone(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "restart": "always"}}))
    instance.run("up")
    (server,) = tmux_servers(instance)
    pid = ps(instance)["a"]["pid"]
    Path(instance.runtime, "tmux", "shop.sock").unlink()
    instance.run("daemon", "stop")
    instance.run("daemon", "start")
    instance.run("up", check=False)
    assert population(instance) == {"a": [pid]}
    assert [one.pid for one in tmux_servers(instance)] == [server.pid]
    down(instance)
    assert tmux_servers(instance) == []
