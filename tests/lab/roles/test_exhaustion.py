"""Members with rights, and agents with their credential, take all that they may: it has an end, and others work on."""

import json
from pathlib import Path

import pytest

from tests.lab.roles.ground import ANN, CLEO, PYTHON, SOURCE, Server
from tests.lab.security.attacks import entries, now
from tests.lab.support.people import daemon, rows, spec
from tests.support.waiting import wait_for

#: By kind: how much one gets, and what is said to who wants more. Commands that run are bounded by the team's file.
TAKEN = {
    "lease": (4096, "holds 4096 leases and locks, and may hold no more"),
    "process": (9, "commands that run, and may have 10"),
    "value": (64, "64 MiB"),
    "message": (32, "has to ack some first"),
    "task": (4080, "get some done first, or say less in them"),
}
VERBS = {
    "lease": "acquire_lease",
    "process": "execute",
    "value": "change_values",
    "message": "send_message",
    "task": "add_task",
}


#: What an agent takes is its own; values, mailboxes and tasks are the team's, and outlive it.
KINDS = {"member": tuple(TAKEN), "agent": ("lease", "process")}


@pytest.mark.parametrize("who", KINDS)
def test_what_somebody_may_take_has_an_end_and_others_are_served_meanwhile(
    server: Server, own_directory: Path, who: str
) -> None:
    stop = own_directory / "stop"
    argv = ["env", "-C", SOURCE, PYTHON, "-m", "tests.lab.roles.flood", "prey", "prey-a", "prey-b", str(stop)]
    argv += KINDS[who]
    with server.prey(settings="[processes]\nrunning = 10"):
        since = now()
        with CLEO.start(*(() if who == "member" else ("corral", "exec", "prey/prey-a", "--")), *argv) as flood:
            assert flood.stdout is not None
            try:
                told = {}
                for _ in KINDS[who]:
                    line = json.loads(flood.stdout.readline())
                    told[line["kind"]] = line
                    still_served()
                still_served()
            finally:
                stop.touch()
                said = flood.stdout.read()
        assert (flood.returncode, said) == (0, ""), said[-1500:]
        for kind, one in told.items():
            most, why = TAKEN[kind]
            assert (one["status"], one["error"]["code"]) == (409, "refused"), one
            assert why in one["error"]["message"] + one["error"]["remedy"], one
            assert one["error"]["remedy"], one
            assert most - 2 <= one["taken"] <= most, one
        wait_for(
            lambda: refused(since, who) == {VERBS[kind] for kind in KINDS[who]}, what="what was refused is in the trail"
        )
        assert daemon() == server.daemon
        assert server.shop() == server.before


#: Says far more than is kept, and then that it is done.
_LOUD = """
[processes]
output = "1M"
disk = "4M"
[agents.prey-c]
command = ["sh", "-c", "yes 0123456789abcdef | head -c 40000000; echo said-$((40+2)); exec cat"]
"""
MEBIBYTE = 1 << 20
#: What is kept of that in the state of whoever's agents they are, by the directory; with some room for what is written
#: before the oldest goes.
KEPT = {"logs": 3 * 17 * MEBIBYTE, "processes": 8 * MEBIBYTE, "recordings": 3 * 3 * MEBIBYTE}


def test_what_agents_say_has_an_end_on_the_disk_and_none_of_it_is_the_daemons(server: Server) -> None:
    before = size("/var/lib/corral")
    with server.prey(settings=_LOUD):
        for _ in range(8):
            loud = "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo said-$((40+2))"
            said = CLEO.run("corral", "exec", "prey/prey-a", "--", "sh", "-c", loud).stdout
            assert said.endswith("said-42\n")
        wait_for(lambda: "said-42" in CLEO.run("corral", "logs", "-n", "3", "prey/prey-c").stdout, 60, "all was said")
        for directory, most in KEPT.items():
            assert 0 < size(f"{CLEO.home}/.local/state/corral-host/{directory}") < most, directory
        assert size("/var/lib/corral") - before < 8 * MEBIBYTE
        still_served()
        assert server.shop() == server.before


_GREEDY = """
[team]
name = "{team}"
[ports]
range = "1024-65535"
block = 1000
[agents.g]
command = ["sleep", "600"]
terminal = "none"
count = {count}
"""


def test_nobody_has_all_agents_or_ports_that_the_host_can_have(server: Server) -> None:
    too_many = CLEO.run("corral", "up", cwd=spec(CLEO, "greedy", _GREEDY.format(team="greedy", count=201)), check=False)
    assert too_many.returncode == 4
    assert "teams of cleo have 0 agents, and may have 200 on this host" in too_many.stderr
    directory = spec(CLEO, "greedy", _GREEDY.format(team="greedy", count=3))
    up = CLEO.run("corral", "up", cwd=directory, check=False)
    try:
        assert "agents of cleo have 2000 of the 2000 ports" in up.stdout + up.stderr
        states = sorted(row["state"] for row in rows(CLEO) if row["team"] == "greedy")
        assert (up.returncode, states) == (1, ["failed", "running", "running"])
        others = spec(ANN, "wide", _GREEDY.format(team="wide", count=1))
        ANN.run("corral", "up", cwd=others)
        ANN.run("sh", "-c", "corral down --team wide && rm -r wide")
    finally:
        CLEO.run("sh", "-c", "corral down --team greedy && rm -r greedy")
    assert server.shop() == server.before


def size(directory: str) -> int:
    """Bytes of the files in it."""
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


def still_served() -> None:
    """Ann sees her team, and gets a lock of it."""
    assert "shop-a" in ANN.run("corral", "ps").stdout
    assert ANN.run("corral", "lock", "--team", "shop", "deploy", "--", "echo", "held").stdout == "held\n"


def refused(since: str, who: str) -> set[str]:
    agent = "prey/prey-a" if who == "agent" else ""
    return {
        entry["verb"]
        for entry in entries(since)
        if (entry["who"]["user"], entry["who"]["agent"], entry["outcome"]) == ("cleo", agent, "409")
    }
