"""Nothing shares a fate by accident: daemon, keeper, tmux server and agents can be ended one by one."""

import os
import signal
from collections.abc import Callable

import pytest

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import IDLE, daemon_of, keeper_of, pid_of, ps, server_of, team, unit_of, up
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

#: What there is of a team. Agents lose their terminals with the tmux server, which is not by accident.
_PARTS: dict[str, Callable[[LabInstance], int]] = {
    "daemon": daemon_of,
    "keeper": keeper_of,
    "server": server_of,
    "api": lambda instance: pid_of(ps(instance)["api"]),
    "docs": lambda instance: pid_of(ps(instance)["docs"]),
}
_GO_WITH = {"server": {"api", "docs"}}


def _stop_unit(instance: LabInstance, pid: int) -> None:
    instance.user.systemctl("stop", unit_of(pid))


def _kill(_instance: LabInstance, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [_stop_unit, _kill], ids=["unit-stopped", "killed"])
@pytest.mark.parametrize("victim", ["daemon", "keeper", "server", "api"])
def test_the_end_of_one_is_the_end_of_that_one(
    lab_instance: LabInstance, victim: str, end: Callable[[LabInstance, int], None]
) -> None:
    up(lab_instance, team(api=IDLE, docs=IDLE))
    pids = {name: find(lab_instance) for name, find in _PARTS.items()}

    end(lab_instance, pids[victim])

    wait_for(lambda: not is_alive(pids[victim]), what=f"the {victim} went")
    gone = {victim} | _GO_WITH.get(victim, set())
    if victim == "server":
        wait_for(lambda: not is_alive(pids["api"]) and not is_alive(pids["docs"]), what="agents lost their terminals")
    assert {name for name, pid in pids.items() if not is_alive(pid)} == gone

    # What is left goes on, and what is missing is found out, or comes back.
    if victim == "daemon":
        lab_instance.corral("daemon", "start")
    if victim in ("daemon", "keeper"):
        wait_for(lambda: {agent["state"] for agent in ps(lab_instance).values()} == {"running"}, what="all run on")
        assert {name: pid_of(agent) for name, agent in ps(lab_instance).items()} == {
            name: pids[name] for name in ("api", "docs")
        }
    else:
        wait_for(lambda: ps(lab_instance)["api"]["state"] != "running", what="the end is seen")
    assert lab_instance.json("down")["clean"] is True


def test_a_keeper_in_the_place_of_another_is_in_a_unit_of_its_own_too(lab_instance: LabInstance) -> None:
    up(lab_instance, team())
    first = keeper_of(lab_instance)
    name = unit_of(first)
    os.kill(first, signal.SIGKILL)

    def second() -> bool:
        lab_instance.corral("ps")
        try:
            return keeper_of(lab_instance) != first
        except AssertionError:
            return False

    wait_for(second, what="another keeper")
    wait_for(lambda: unit_of(keeper_of(lab_instance)).startswith(name.removesuffix("scope")), what="it moved")
    assert lab_instance.json("down")["clean"] is True
