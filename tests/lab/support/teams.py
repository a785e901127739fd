"""Teams whose agents are small shell scripts, and what is seen of them from outside."""

import json
import os
from collections.abc import Mapping

from tests.lab.support.instances import LabInstance
from tests.lab.support.units import Unit, units
from tests.lab.support.users import User, cgroup
from tests.support import processes
from tests.support.waiting import wait_for

#: An agent that does nothing, for as long as it is let.
IDLE = "exec sleep 1000"


def team(name: str = "shop", more: str = "", **agents: str) -> str:
    """A `corral.toml`. Each agent is a shell script; all of them share the directory of the file."""
    return agents_of(name, agents or {"api": IDLE}, more)


def agents_of(name: str, agents: Mapping[str, str], more: str = "", of_each: str = "") -> str:
    """The same, for names of agents that are no Python names."""
    tables = [f'[team]\nname = "{name}"\n']
    for agent, script in agents.items():
        command = json.dumps(["sh", "-c", script])
        tables.append(f'[agents.{agent}]\nworkspace = "shared"\ncommand = {command}\n{of_each}\n')
    return "\n".join([*tables, more])


def up(instance: LabInstance, text: str) -> dict[str, dict[str, object]]:
    """Bring a team up; its agents as `ps` shows them, by name."""
    instance.spec(text)
    instance.corral("up")
    return ps(instance)


def ps(instance: LabInstance) -> dict[str, dict[str, object]]:
    """The agents of the instance, by name."""
    return {agent["agent"]: agent for agent in instance.json("ps")}


def pid_of(agent: Mapping[str, object]) -> int:
    """The pid of an agent that `ps` showed."""
    assert isinstance(agent["pid"], int), agent
    return agent["pid"]


def pid_from(path: str) -> int:
    """A pid that an agent wrote into a file, as soon as it is there."""

    def read() -> str:
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read().strip()

    return int(wait_for(read, what=f"a pid in {path}"))


def unit_of(pid: int) -> str:
    """The innermost unit that a process is in."""
    return os.path.basename(cgroup(pid))


def corral_units(user: User) -> dict[str, Unit]:
    """What Corral and tmux have made in the manager of a user."""
    return {name: unit for name, unit in units(user).items() if name.startswith(("corral", "tmux-spawn"))}


def keeper_of(instance: LabInstance) -> int:
    """The pid of the instance's keeper."""
    return _own_process(instance, "keeper")


def daemon_of(instance: LabInstance) -> int:
    """The pid of the instance's daemon."""
    return _own_process(instance, "daemon")


def server_of(instance: LabInstance, team_name: str = "shop") -> int:
    """The pid of a team's tmux server."""
    sock = f"{instance.runtime}/tmux/{team_name}.sock"
    return int(instance.user.bare("tmux", "-N", "-S", sock, "display", "-p", "#{pid}").stdout)


def keeper_log(instance: LabInstance) -> str:
    """What the keepers of the instance have logged so far."""
    with open(f"{instance.home}/keeper.log", encoding="utf-8") as file:
        return file.read()


def _own_process(instance: LabInstance, role: str) -> int:
    found = [
        one
        for one in instance.user.processes()
        if f"corral\0{role}\0run" in _cmdline(one.pid) and processes.carries(one.pid, instance.home)
    ]
    pids = {one.pid for one in found}
    # Before it runs its own program, what one of them starts looks like itself.
    own = [one.pid for one in found if one.parent not in pids]
    assert len(own) == 1, (role, own)
    return own[0]


def _cmdline(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""
