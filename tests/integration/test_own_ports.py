"""`bind = "own"` with real agents on a real kernel: an agent, and what it starts, listens on its own ports only."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corral.adapters.landlock.confine import PORTS_VERSION, __file__, version
from tests.faults.support.teams import pids, toml
from tests.support.instance import Instance
from tests.support.ports import own_ports
from tests.support.waiting import wait_for

LAUNCHER = str(__file__)
#: Tries to listen on its first port, its last one, the one behind it and any; writes down what came of it, and stays.
TRIES = """
import json, os, socket, sys, time
first, last = map(int, os.environ["CORRAL_PORTS"].split("-"))
def tried(port):
    try:
        socket.socket().bind(("127.0.0.1", port))
    except OSError as error:
        return error.errno
    return 0
found = [tried(port) for port in (first, last, last + 1, 0)]
name = f"found.{os.environ['CORRAL_AGENT']}.{sys.argv[1]}"
with open(name + ".part", "w") as file:
    json.dump(found, file)
os.rename(name + ".part", name)
if sys.argv[1] == "stays":
    time.sleep(86400)
"""
OWN = {"bind": "own"}
FREELY, CONFINED = [0, 0, 0, 0], [0, 0, 13, 13]
PORTS = own_ports()
_RANGE = f'[ports]\nrange = "{PORTS[0]}-{PORTS[-1]}"\n'

pytestmark = pytest.mark.skipif(version() < PORTS_VERSION, reason="this kernel has no Landlock for ports (Linux 6.7)")


def spec(**agents: dict[str, object]) -> str:
    command = [sys.executable, "-c", TRIES, "stays"]
    return toml({name: {"command": command, **keys} for name, keys in agents.items()}) + _RANGE


def found(instance: Instance, agent: str, which: str = "stays") -> Any:
    file = Path(instance.directory, f"found.{agent}.{which}")
    wait_for(file.exists, 20, f"{agent} has tried")
    answer = json.loads(file.read_text())
    file.unlink()
    return answer


def test_only_who_asks_for_it_is_kept_to_its_ports(instance: Instance) -> None:
    instance.spec(spec(a={"access": OWN}, b={}, c={"access": OWN, "terminal": "none"}))
    instance.run("up")
    assert (found(instance, "a"), found(instance, "b"), found(instance, "c")) == (CONFINED, FREELY, CONFINED)


def test_what_is_started_for_it_and_after_a_restart_is_kept_to_them_too(instance: Instance) -> None:
    instance.spec(spec(a={"access": OWN, "restart": "always"}))
    instance.run("up")
    assert found(instance, "a") == CONFINED
    instance.run("exec", "a", "--", sys.executable, "-c", TRIES, "once")
    assert found(instance, "a", "once") == CONFINED
    os.kill(pids(instance)["a"], 9)
    assert found(instance, "a") == CONFINED
    instance.run("restart", "a")
    assert found(instance, "a") == CONFINED


def test_a_program_that_is_not_there_is_told_of_as_ever(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": ["no-such-program"], "access": OWN}}))
    done = instance.run("up", "--json", check=False)
    assert done.returncode == 1
    agent = instance.json("ps")[0]
    assert (agent["state"], agent["exit_code"]) == ("failed", 127)
    assert "no-such-program" in instance.run("logs", "a").stdout


def test_named_ports_and_none(instance: Instance) -> None:
    """A port in the middle of a block: neither agent tries it by itself."""
    instance.spec(spec(a={"access": {"bind": [PORTS[55]]}}, b={"access": {"bind": "none"}}))
    instance.run("up")
    assert (found(instance, "a"), found(instance, "b")) == ([13, 13, 13, 13], [13, 13, 13, 13])
    bound = "import socket, sys; socket.socket().bind(('127.0.0.1', int(sys.argv[1])))"
    instance.run("exec", "a", "--", sys.executable, "-c", bound, str(PORTS[55]))
    assert instance.run("exec", "b", "--", sys.executable, "-c", bound, str(PORTS[55]), check=False).returncode == 1


def test_the_launcher_refuses_what_it_cannot_do() -> None:
    ports = json.dumps(
        {"read": False, "write": False, "ports": [[20000, 20001]], "network": True, "workspace": "/"}
        | {"below": [], "declared": [], "besides": [], "temporary": "", "cache": ""}
    )
    for rules, argv, code in ((ports, ["/dev/null"], 126), ("{", ["true"], 126), (ports, ["no-such"], 127)):
        done = subprocess.run([sys.executable, "-I", "-S", LAUNCHER, rules, *argv], capture_output=True, check=False)
        assert (done.returncode, argv[0].encode() in done.stderr) == (code, True)
