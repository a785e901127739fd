"""Daemon and keeper die (-9) at every step of starting and of taking down, in turn: nothing is lost, nothing is left.

The steps are the failpoints of the product: a process kills itself there, once. A step that nobody comes by fails the
test, so the list below is the whole of it.
"""

import subprocess
from pathlib import Path

import pytest

from tests.faults.support.population import assert_one_of_each, everything, population
from tests.faults.support.teams import IDLE, down, states, toml
from tests.faults.test_audit_killed_at_every_step import AUDITING
from tests.faults.test_killed_while_looking_after import ACTING, RETURNING
from tests.faults.test_merges_killed_at_every_step import GOING_BACK, GOING_IN
from tests.faults.test_sends_killed_at_every_step import SENDING
from tests.integration.test_admission import WAITING
from tests.integration.test_inbox import ANSWERING
from tests.support import repos
from tests.support.instance import Instance
from tests.support.waiting import wait_for

_STARTING = (
    "daemon.team_written",
    "daemon.declared",
    "daemon.ports_allocated",
    "daemon.workspaces_ready",
    "daemon.starting_written",
    "keeper.launch_files_written",
    "keeper.server_started",
    "keeper.server_sheltered",
    "keeper.sessions_started",
    "keeper.admitted",
    "keeper.gates_opened",
    "keeper.programs_found",
    "daemon.launched",
    "daemon.started_written",
)
_STOPPING = (
    "daemon.stopping_written",
    "keeper.runs_ended",
    "keeper.terminals_removed",
    "daemon.stopped",
)
_DOWN = (
    "daemon.down_announced",
    "keeper.team_ended",
    "keeper.server_ended",
    "keeper.team_forgotten",
    "daemon.taken_down",
    "daemon.workspaces_removed",
    "daemon.census_taken",
)
_NAMES = {"a-1", "a-2", "a-3"}
#: The processes of an agent of `_team`: its shell, what that left in the background, and what it waits for.
_EACH = 3
_SOURCE = Path(__file__).parents[2] / "src" / "corral"


class Deadly:
    """One instance whose processes die at one step, once."""

    def __init__(self, instance: Instance, directory: Path, step: str) -> None:
        self._instance = instance
        self._once = directory / "once"
        self.environment = {"CORRAL_FAILPOINT": f"{step}:{self._once}"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command during which somebody dies."""
        self._once.touch()
        done = self._instance.run(*arguments, env=self.environment, check=False)
        assert not self._once.exists(), f"nobody came to the step; {done.stdout}{done.stderr}"
        return done

    def recover(self) -> None:
        """Whoever died is started again, as the next command would."""
        self._instance.run("daemon", "start", env=self.environment)


#: Agents with a terminal and without go the same way, under different servers.
_TERMINALS = pytest.mark.parametrize("terminal", ["tmux", "none"])


def _team(instance: Instance, directory: Path, terminal: str) -> None:
    stubborn = "trap '' TERM HUP; setsid sleep 86400 & while :; do sleep 86400; done"
    agents: dict[str, dict[str, object]] = {"a": {"command": stubborn, "count": 3, "terminal": terminal}}
    instance.spec(toml(agents, repo=repos.make(directory / "project")))


def _assert_nothing_is_left(instance: Instance) -> None:
    instance.run("daemon", "stop")
    wait_for(lambda: not everything(instance), 10, "daemon and keeper end")


@pytest.mark.slow
@_TERMINALS
@pytest.mark.parametrize("step", _STARTING)
def test_while_starting(instance: Instance, own_directory: Path, step: str, terminal: str) -> None:
    _team(instance, own_directory, terminal)
    deadly = Deadly(instance, own_directory, step)
    deadly.run("up")
    deadly.recover()
    instance.run("up", env=deadly.environment)
    assert set(states(instance).values()) == {"running"}
    assert population(instance).keys() == _NAMES
    started = {name: pids[0] for name, pids in population(instance).items()}
    instance.run("up", env=deadly.environment)
    assert {name: pids[0] for name, pids in population(instance).items()} == started
    assert down(instance, "--grace", "0.3")["kept"] == []
    _assert_nothing_is_left(instance)


@pytest.mark.slow
@_TERMINALS
@pytest.mark.parametrize("step", _STOPPING)
def test_while_stopping_one(instance: Instance, own_directory: Path, step: str, terminal: str) -> None:
    _team(instance, own_directory, terminal)
    deadly = Deadly(instance, own_directory, step)
    instance.run("up", env=deadly.environment)
    wait_for(lambda: all(len(pids) == _EACH for pids in population(instance).values()), 10, "all are at their work")
    others = {name: pids for name, pids in population(instance).items() if name != "a-2"}
    deadly.run("stop", "--grace", "0.3", "a-2")
    deadly.recover()
    instance.run("stop", "--grace", "0.3", "a-2", env=deadly.environment)
    assert population(instance) == others
    assert states(instance) == {"a-1": "running", "a-2": "stopped", "a-3": "running"}
    down(instance, "--grace", "0.3")
    _assert_nothing_is_left(instance)


@pytest.mark.slow
@_TERMINALS
@pytest.mark.parametrize("step", _DOWN)
def test_while_taking_down(instance: Instance, own_directory: Path, step: str, terminal: str) -> None:
    _team(instance, own_directory, terminal)
    deadly = Deadly(instance, own_directory, step)
    instance.run("up", env=deadly.environment)
    done = deadly.run("down", "--grace", "0.3")
    deadly.recover()
    if done.returncode != 0 and states(instance):
        down(instance, "--grace", "0.3")
    assert states(instance) == {}
    assert population(instance) == {}
    _assert_nothing_is_left(instance)
    assert not list(Path(instance.home, "worktrees").glob("*/*"))


def test_no_step_is_left_out() -> None:
    text = "".join(path.read_text() for path in _SOURCE.rglob("*.py"))
    declared = {line.split('"')[1] for line in text.splitlines() if line.strip().startswith('point("')}
    merging = {*GOING_IN, *GOING_BACK}
    others = {*ACTING, *RETURNING, *ANSWERING, *WAITING, *AUDITING}
    assert declared == {*_STARTING, *_STOPPING, *_DOWN, *merging, *SENDING, *others}


def test_without_being_asked_nobody_dies(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up", env={"CORRAL_FAILPOINT": "daemon.declared:/nowhere/once"})
    assert_one_of_each(instance, {"a"})
