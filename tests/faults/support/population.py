"""Who is there: the processes of an instance, found in /proc and not by asking the product."""

import os
import signal

from tests.faults.support.teams import ps
from tests.support import processes, sockets
from tests.support.instance import Instance
from tests.support.processes import Process
from tests.support.waiting import wait_for


def environment(pid: int) -> dict[str, str]:
    """The environment that the process was started with; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            raw = file.read()
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in os.fsdecode(raw).split("\0") if "=" in entry)


def command_line(pid: int) -> list[str]:
    """The argv of the process; empty if it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).rstrip("\0").split("\0")
    except OSError:
        return []


def population(instance: Instance, team: str = "shop") -> dict[str, list[int]]:
    """Every process of a team's agents, by agent: those whose environment says so."""
    found: dict[str, list[int]] = {}
    for one in processes.snapshot().values():
        variables = environment(one.pid)
        agent = variables.get("CORRAL_AGENT")
        if agent and variables.get("CORRAL_HOME") == instance.home and variables.get("CORRAL_TEAM") == team:
            found.setdefault(agent, []).append(one.pid)
    return found


def assert_one_of_each(instance: Instance, names: set[str], team: str = "shop") -> None:
    """Exactly one process an agent, and `corral ps` knows it."""
    agents = ps(instance)
    assert {name: agent["state"] for name, agent in agents.items()} == dict.fromkeys(names, "running")
    expected = {name: [agent["pid"]] for name, agent in agents.items()}
    # A process has its agent's name from the moment on at which it becomes the agent's program.
    wait_for(lambda: population(instance, team).keys() == expected.keys(), 10, f"there are processes of {names}")
    found = population(instance, team)
    assert found == expected, f"the processes of agents are {found}, and corral ps has {expected}"


def daemons(instance: Instance) -> list[Process]:
    """The daemons of the instance; there should be one at most."""
    return _corral(instance, "daemon")


def keepers(instance: Instance) -> list[Process]:
    """The keepers of the instance; there should be one at most."""
    return _corral(instance, "keeper")


def _corral(instance: Instance, noun: str) -> list[Process]:
    found = [
        one
        for one in processes.snapshot().values()
        if command_line(one.pid)[1:5] == ["-m", "corral", noun, "run"]
        and environment(one.pid).get("CORRAL_HOME") == instance.home
    ]
    # A child that it just forked looks like it until it has become another program.
    return [one for one in found if one.parent not in {other.pid for other in found}]


def tmux_servers(instance: Instance) -> list[Process]:
    """The tmux servers that listen below the instance's runtime directory."""
    return [
        one
        for one in processes.snapshot().values()
        if one.name == "tmux: server"
        and any(path.startswith(instance.runtime + "/") for path in sockets.listening(one.pid))
    ]


def everything(instance: Instance) -> list[str]:
    """A line for each process that knows the instance's directories."""
    return [
        one.describe()
        for one in processes.snapshot().values()
        if one.pid != os.getpid() and not one.zombie and processes.carries(one.pid, instance.directory)
    ]


def send_signal(one: Process, number: signal.Signals) -> None:
    """Signal this very process."""
    fd = os.pidfd_open(one.pid)
    try:
        now = processes.process(one.pid)
        assert now is not None, f"{one} is gone"
        assert now.started == one.started, f"{one} is gone"
        signal.pidfd_send_signal(fd, number)
    finally:
        os.close(fd)


def kill_daemon(instance: Instance) -> None:
    """Kill the daemon with SIGKILL, and wait until it is gone."""
    (daemon,) = daemons(instance)
    processes.kill(daemon)


def kill_keeper(instance: Instance) -> None:
    """Kill the keeper with SIGKILL, and wait until it is gone. If one is just being started, kill that one."""
    (keeper,) = wait_for(lambda: keepers(instance), 10, "there is a keeper")
    processes.kill(keeper)
