"""What agents do to get away: it is found all the same, with a cgroup and without one."""

import os
import signal
from pathlib import Path

import pytest

from tests.faults.support.teams import down, ps, toml
from tests.support.instance import Instance
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

#: A daemon by the book that leaves nothing in its environment either: no parent, no session, no marker.
_ESCAPE = "env -i setsid -f sh -c 'echo $$ >escaped; exec sleep 86400'; exec sleep 86400"


def _escaped(directory: Path) -> int:
    """The pid of the daemon, once it is there."""
    file = directory / "escaped"
    return int(wait_for(lambda: file.read_text().strip() or None if file.exists() else None, 10, "the daemon"))


@pytest.mark.parametrize("systemd", ["auto", "off"])
def test_a_daemon_with_an_empty_environment_goes_with_the_team(
    instance: Instance, own_directory: Path, systemd: str
) -> None:
    instance.spec(toml({"a": {"command": _ESCAPE}}) + f'[containment]\nsystemd = "{systemd}"\n')
    instance.run("up")
    pid = _escaped(own_directory)
    assert is_alive(pid)
    down(instance, "--grace", "1")
    assert not is_alive(pid)


def test_without_cgroups_a_daemon_goes_with_the_team_though_its_agent_died_long_before(
    instance: Instance, own_directory: Path
) -> None:
    instance.spec(
        toml({"a": {"command": _ESCAPE}, "b": {"command": ["sleep", "86400"]}}) + '[containment]\nsystemd = "off"\n'
    )
    instance.run("up")
    pid = _escaped(own_directory)
    os.kill(ps(instance)["a"]["pid"], signal.SIGKILL)
    wait_for(lambda: ps(instance)["a"]["state"] == "failed", 10, "the agent's end")
    down(instance, "--grace", "1")
    assert not is_alive(pid)
