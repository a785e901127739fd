"""A person's own tmux server is not touched, also when Corral is run from inside of it.

The server runs beside every test here, and `tests/conftest.py` fails a test after which anything about it is not as it
was. These tests bring Corral as near to it as a person would.
"""

import json
import os
import subprocess
from pathlib import Path

from tests.faults.support.population import assert_one_of_each, environment, tmux_servers
from tests.faults.support.teams import IDLE, down, ps, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.person import OwnTmux, Person
from tests.support.waiting import wait_for


def test_a_team_with_the_name_of_a_persons_session_leaves_that_session_alone(
    instance: Instance, own_tmux: OwnTmux
) -> None:
    instance.spec(toml({"mine": {"command": IDLE}, "shop": {"command": IDLE}}, name="shop"))
    instance.run("up")
    instance.run("send", "mine", "not for the person's own session")
    instance.run("restart", "shop")
    assert own_tmux.changes() == []
    down(instance)
    assert own_tmux.changes() == []


def test_from_inside_a_persons_tmux_everything_works_and_that_tmux_is_as_before(
    instance: Instance, own_directory: Path, person: Person
) -> None:
    """The whole path, run in a window of a second server of the same person, with TMUX and TMUX_PANE set."""
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    socket = str(own_directory / "person.sock")
    script = own_directory / "path"
    corral = " ".join(instance.argv())
    script.write_text(
        f"env >seen\n{corral} up --json >up 2>up.err; {corral} ps --json >ps; {corral} send a-1 hello >send;"
        f" {corral} events --json >events; echo $? >done; exec cat\n"
    )
    tmux = ["tmux", "-S", socket, "-f", os.devnull]
    subprocess.run(
        [*tmux, "new-session", "-d", "-s", "shop", "-x", "80", "-y", "24", "sh", str(script)],
        cwd=own_directory,
        env=instance.environment(),
        check=True,
    )
    server = int(subprocess.run([*tmux, "display-message", "-p", "#{pid}"], capture_output=True, check=True).stdout)
    question = [*tmux, "list-panes", "-a", "-F", "#{session_name} #{window_id} #{pane_id} #{pane_pid} #{pane_dead}"]
    before = subprocess.run(question, capture_output=True, check=True).stdout
    try:
        wait_for((own_directory / "done").exists, 30, "the commands inside the person's tmux are done")
        assert f"TMUX={socket}," in (own_directory / "seen").read_text()
        agents = json.loads((own_directory / "ps").read_text())
        assert [agent["state"] for agent in agents] == ["running", "running"], (own_directory / "up.err").read_text()
        assert subprocess.run(question, capture_output=True, check=True).stdout == before
        assert server not in {one.pid for one in tmux_servers(instance)}
        assert_one_of_each(instance, {"a-1", "a-2"})
        for agent in ps(instance).values():
            found = environment(agent["pid"])
            assert not found.keys() & {"TMUX", "TMUX_PANE"}
            assert found["TMUX_TMPDIR"] == f"{instance.runtime}/own/{found['CORRAL_RUN']}"
        down(instance)
        assert subprocess.run(question, capture_output=True, check=True).stdout == before
    finally:
        one = processes.process(server)
        if one:
            processes.kill(one)


def test_an_agent_that_runs_a_tmux_of_its_own_is_taken_down_with_it(instance: Instance, own_directory: Path) -> None:
    socket = own_directory / "agents.sock"
    script = f"tmux -S {socket} -f /dev/null new-session -d sleep 86404; exec sleep 86400"
    instance.spec(toml({"a": {"command": ["sh", "-c", script]}}))
    instance.run("up")
    asked = ["tmux", "-N", "-S", str(socket), "display-message", "-p", "#{pid}"]
    wait_for(lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0, 10, "it has its tmux")
    pid = int(subprocess.run(asked, capture_output=True, check=True).stdout)
    down(instance)
    left = processes.process(pid)
    assert left is None or left.zombie
