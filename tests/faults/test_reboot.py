"""The host went down: every process is gone at once, the runtime directory too, and other processes have their pids."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.faults.support.population import assert_one_of_each, daemons, keepers, population, tmux_servers
from tests.faults.support.teams import ps
from tests.support.instance import Instance
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux


def power_failure(instance: Instance) -> None:
    """End everything of the instance without a word, and take away what no boot would leave."""
    pids = [one.pid for one in (*daemons(instance), *keepers(instance), *tmux_servers(instance))]
    pids += [pid for team in ("shop", "gone", "zoo") for its in population(instance, team).values() for pid in its]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it went with the terminal that went before it
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in pids), what="all are gone")
    shutil.rmtree(instance.runtime)


def give_pids_away(instance: Instance, to: int) -> None:
    """Have the store say that every agent ran as `to`: after a boot its pid is somebody else's."""
    store = sqlite3.connect(Path(instance.home, "corral.db"))
    with store:
        for key, value in store.execute("SELECT key, value FROM records WHERE kind = 'agent'").fetchall():
            changed = json.dumps({**json.loads(value), "pid": to}).encode()
            store.execute("UPDATE records SET value = ? WHERE kind = 'agent' AND key = ?", (changed, key))
    store.close()


TEAM = (
    '[team]\nname = "shop"\n[supervision]\nmax_agents = 2\n'
    '[agents.a]\ncommand = ["cat"]\nrestart = "on-failure"\n[agents.b]\ncommand = ["cat"]\n'
    '[agents.waits]\ncommand = ["cat"]\n'
)


def test_up_brings_the_declared_team_back(instance: Instance) -> None:
    instance.spec(TEAM)
    instance.run("up")
    assert ps(instance)["waits"]["state"] == "pending"
    power_failure(instance)
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        give_pids_away(instance, bystander.pid)
        done = instance.json("up")
        assert bystander.poll() is None
        assert bystander.pid not in [agent["pid"] for agent in ps(instance).values()]
    finally:
        bystander.kill()
        bystander.wait()
    assert {one["agent"]: one["action"] for one in done["agents"]} == {"a": "start", "b": "start", "waits": "pending"}
    instance.run("stop", "b")
    wait_for(lambda: ps(instance)["waits"]["state"] == "running", what="the place of b is taken")
    instance.run("rm", "b")
    assert_one_of_each(instance, {"a", "waits"})


def test_without_their_environments_agents_are_not_started_by_halves(instance: Instance) -> None:
    instance.spec(TEAM)
    instance.run("up")
    power_failure(instance)
    instance.run("daemon", "start")
    wait_for(lambda: {one["state"] for one in ps(instance).values()} == {"failed"}, what="nobody can be started")
    assert "the environment that a was started with is gone" in ps(instance)["a"]["reason"]
    assert "the team's tmux server is gone" in ps(instance)["b"]["reason"]
    assert population(instance) == {}
    assert "2 started, 1 pending" in instance.run("up", "--all").stdout


def test_all_teams_come_back_also_if_one_cannot(instance: Instance, own_directory: Path) -> None:
    files = []
    for name in ("shop", "gone", "zoo"):
        directory = own_directory / name
        directory.mkdir()
        files.append(directory / "corral.toml")
        files[-1].write_text(f'[team]\nname = "{name}"\n[agents.a]\ncommand = ["cat"]\n')
        instance.run("up", "-f", str(files[-1]))
    power_failure(instance)
    files[1].unlink()
    done = instance.run("up", "--all", check=False)
    assert done.returncode == 3
    assert str(files[1]) in done.stderr
    assert {(one["team"], one["state"]) for one in instance.json("ps")} == {
        ("shop", "running"),
        ("gone", "failed"),
        ("zoo", "running"),
    }


def test_up_of_all_starts_nothing_where_nothing_was_up(instance: Instance) -> None:
    assert "no team was up" in instance.run("up", "--all").stderr
    assert daemons(instance) == []
    code, error = instance.error("up", "--all", "a")
    assert code == 2
    assert "every team" in error["message"]
