"""`corral port` with real agents and real listeners: what is theirs, who listens, and what becomes of it."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import IDLE, await_event, await_states, down, events, pids, states, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.mcp_agent import run, started
from tests.support.ports import own_ports
from tests.support.waiting import wait_for

#: Writes what it has of ports to a file of its own, and stays.
TELLS = "env | grep -E '^(CORRAL_)?PORT' > $CORRAL_RUN; mv $CORRAL_RUN env.$CORRAL_AGENT; exec sleep 86400"
#: Listens on the port that it is given, and says so.
LISTENS = """
import socket, sys, time
one = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listens", flush=True)
time.sleep(86400)
"""

PORTS = own_ports()


@pytest.fixture
def second(instance: Instance) -> Iterator[Instance]:
    """Another instance on the same host."""
    directory = os.path.join(instance.directory, "2")
    os.mkdir(directory)
    other = Instance(directory)
    yield other
    other.close()


def env_of(instance: Instance, agent: str) -> dict[str, str]:
    """What the agent found in its environment."""
    file = Path(instance.directory, f"env.{agent}")
    wait_for(file.exists, 20, f"{agent} tells its environment")
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def port(instance: Instance, *arguments: str) -> int:
    return int(instance.run("port", "get", *arguments).stdout)


def listed(instance: Instance, *arguments: str) -> dict[tuple[str | None, int], dict[str, Any]]:
    return {(one["agent"], one["port"]): one for one in instance.json("port", "ls", *arguments)}


def test_every_agent_has_ports_of_its_own_in_its_environment(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": TELLS, "count": 2, "ports": ["web", "api-2"]}, "b": {"command": TELLS}}))
    instance.run("up", env={"PORT": "3000"})
    blocks = []
    for agent in ("a-1", "a-2", "b"):
        found = env_of(instance, agent)
        first = int(found["PORT"])
        blocks.append(range(first, first + 10))
        assert found["CORRAL_PORTS"] == f"{first}-{first + 9}"
        assert port(instance, "--agent", agent) == first
        if agent != "b":
            assert int(found["CORRAL_PORT_WEB"]) == port(instance, "web", "--agent", agent) == first + 1
            assert int(found["CORRAL_PORT_API_2"]) == port(instance, "api-2", "--agent", agent) == first + 2
    assert len({number for block in blocks for number in block}) == 30
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert not any(low <= number <= high for block in blocks for number in block)


def test_a_port_that_is_declared_wins_and_commands_have_what_the_agent_has(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "env": {"PORT": "3000"}, "ports": ["web"]}}))
    instance.run("up")
    corral = f"{sys.executable} -m corral"
    script = f"echo $PORT $CORRAL_PORT_WEB $({corral} port get web) $({corral} port get)"
    told = instance.run("exec", "a", "--", "sh", "-c", script).stdout
    web = port(instance, "web", "--agent", "a")
    assert told.split() == ["3000", str(web), str(web), str(web - 1)]


def test_a_name_keeps_its_port_and_a_full_block_is_exit_4(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}) + "\n[ports]\nblock = 3\n")
    instance.run("up")
    first = port(instance, "--agent", "a")
    assert instance.json("port", "get", "web", "--agent", "shop/a") == {
        "port": first + 1,
        "name": "web",
        "agent": "a",
        "team": "shop",
    }
    assert port(instance, "api", "--agent", "a") == first + 2
    assert port(instance, "web", "--agent", "a") == first + 1
    code, error = instance.error("port", "get", "db", "--agent", "a")
    assert (code, error["code"], error["name"]) == (4, "refused", "db")
    assert "larger block" in error["remedy"]
    assert instance.error("port", "get", "web")[0] == 2
    assert instance.error("port", "get", "Web", "--agent", "a")[0] == 2
    assert instance.error("port", "get", "web", "--agent", "nobody")[0] == 3


def test_a_block_with_a_foreign_listener_is_never_given_out(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}) + f'\n[ports]\nrange = "{PORTS[0]}-{PORTS[29]}"\nblock = 10\n')
    with ExitStack() as listeners:
        for number, address in ((PORTS[5], "127.0.0.1"), (PORTS[19], "0.0.0.0")):
            listeners.enter_context(socket.create_server((address, number)))
        instance.run("up")
        assert port(instance, "--agent", "a") == PORTS[20]
    # What is the agent's stays so, also when somebody else takes it.
    with socket.create_server(("127.0.0.1", PORTS[21])) as stranger:
        assert port(instance, "web", "--agent", "a") == PORTS[22]
        with socket.create_server(("127.0.0.1", PORTS[22])):
            rows = listed(instance)
            assert rows["a", PORTS[22]]["listening"] is False
            assert rows[None, PORTS[22]]["pid"] == os.getpid()
        assert stranger.fileno() >= 0
        assert port(instance, "web", "--agent", "a") == PORTS[22]


def test_agents_that_nothing_is_left_for_fail_and_the_others_start(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 3}}) + f'\n[ports]\nrange = "{PORTS[0]}-{PORTS[19]}"\n')
    done = instance.run("up", "--json", check=False)
    assert done.returncode == 1
    outcomes = {agent["agent"]: agent for agent in json.loads(done.stdout)["agents"]}
    assert sorted(one["state"] for one in outcomes.values()) == ["failed", "running", "running"]
    (failed,) = [one for one in outcomes.values() if one["state"] == "failed"]
    assert f"no block of 10 ports is left in {PORTS[0]}-{PORTS[19]}" in failed["detail"]
    assert "range" in failed["remedy"]
    down(instance)


def test_who_listens_is_told_also_on_ports_that_nobody_leased(instance: Instance) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        stray = free.getsockname()[1]
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": [sys.executable, "-c", LISTENS, str(stray)]}}))
    instance.run("up")
    with instance.follow("logs", "-f", "b", "--json") as stream:
        stream.until(lambda line: "listens" in line["text"], 20)
    web = port(instance, "web", "--agent", "a")
    # What a command of an agent listens on is the agent's.
    instance.run("exec", "--background", "a", "--", sys.executable, "-c", LISTENS, str(web))
    wait_for(lambda: listed(instance)["a", web]["listening"], 20, "the command listens")
    rows = listed(instance)
    assert rows["b", stray] == {
        "port": stray,
        "team": "shop",
        "agent": "b",
        "name": None,
        "listening": True,
        "pid": pids(instance)["b"],
        "command": rows["b", stray]["command"],
        "leased": False,
        "hidden": False,
        "unknown": "",
    }
    assert rows["b", stray]["command"].startswith(sys.executable)
    assert (rows["a", web]["name"], rows["a", web]["leased"]) == ("web", True)
    assert {agent for agent, _ in listed(instance, "--agent", "b")} == {"b"}
    text = instance.run("port", "ls").stdout
    assert "(not leased)" in text
    assert "web" in text


def test_what_hides_from_its_agent_is_still_told(instance: Instance) -> None:
    """A server that cleared its environment, in a session of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        stray = free.getsockname()[1]
    hidden = f"env -i setsid {sys.executable} -c '{LISTENS}' {stray} & wait"
    instance.spec(toml({"a": {"command": hidden}}))
    instance.run("up")
    with instance.follow("logs", "-f", "a", "--json") as stream:
        stream.until(lambda line: "listens" in line["text"], 20)
    assert listed(instance)["a", stray]["leased"] is False


def test_ports_are_the_same_over_restarts_of_agents_and_of_the_daemon(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": TELLS, "restart": "always", "ports": ["web"]}}))
    instance.run("up")
    before = env_of(instance, "a")
    later = port(instance, "later", "--agent", "a")

    def again() -> dict[str, str]:
        found = env_of(instance, "a")
        Path(instance.directory, "env.a").unlink()
        return found

    again()
    one = processes.process(pids(instance)["a"])
    assert one is not None
    processes.kill(one)
    assert again() == before
    instance.run("restart", "a")
    assert again() == before
    kill_daemon(instance)
    instance.run("daemon", "start")
    assert port(instance, "web", "--agent", "a") == int(before["CORRAL_PORT_WEB"])
    assert port(instance, "later", "--agent", "a") == later
    instance.run("stop", "a")
    instance.run("up")
    assert again() == before


def test_down_and_rm_free_what_was_leased(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    instance.run("up")
    first = {agent: port(instance, "--agent", agent) for agent in ("a-1", "a-2")}
    instance.run("rm", "--force", "a-1")
    assert {agent for agent, _ in listed(instance)} == {"a-2"}
    freed = [event for event in events(instance) if event["event"] == "port.freed"]
    assert [(event["agent"], event["data"]["first"]) for event in freed] == [("a-1", first["a-1"])]
    receipt = down(instance)
    (check,) = [check for check in receipt["checks"] if check["what"] == "port_blocks"]
    assert check == {"what": "port_blocks", "found": 0, "residue": []}
    assert instance.json("port", "ls") == []
    instance.run("up")
    assert {agent: port(instance, "--agent", agent) for agent in ("a-1", "a-2")} == first


def test_a_daemon_that_dies_between_ports_and_start_leaks_none(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": TELLS, "count": 2}}) + f'\n[ports]\nrange = "{PORTS[0]}-{PORTS[19]}"\n')
    once = own_directory / "once"
    once.touch()
    deadly = {"CORRAL_FAILPOINT": f"daemon.ports_allocated:{once}"}
    assert instance.run("up", env=deadly, check=False).returncode != 0
    assert not once.exists()
    # There are two blocks in all: were they lost, nobody could be started.
    instance.run("up", env=deadly)
    assert {env_of(instance, agent)["PORT"] for agent in ("a-1", "a-2")} == {str(PORTS[0]), str(PORTS[10])}
    down(instance)
    instance.run("up", env=deadly)
    await_states(instance, {"a-1": "running", "a-2": "running"})


def test_two_instances_of_one_host_do_not_collide(instance: Instance, second: Instance) -> None:
    ports = f'\n[ports]\nrange = "{PORTS[0]}-{PORTS[39]}"\n'
    for one in (instance, second):
        one.spec(toml({"a": {"command": IDLE, "count": 2}}) + ports)
        one.run("up")
        assert set(states(one).values()) == {"running"}
    blocks = {port(one, "--agent", agent) for one in (instance, second) for agent in ("a-1", "a-2")}
    assert blocks == {PORTS[0], PORTS[10], PORTS[20], PORTS[30]}


def test_the_journal_tells_who_got_and_gave_back_what(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "ports": ["web"]}}))
    instance.run("up")
    allocated = await_event(instance, "port.allocated", "a")
    first = port(instance, "--agent", "a")
    assert allocated["data"] == {"first": first, "last": first + 9, "names": {"web": first + 1}}
    down(instance)
    told = [event for event in events(instance) if event["event"].startswith("port.")]
    assert [event["event"] for event in told] == ["port.allocated", "port.freed"]
    assert [event["who"]["user"] for event in told] == [allocated["who"]["user"]] * 2


@pytest.mark.slow
def test_a_model_gets_the_port_that_its_agent_has(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "ports": ["web"]}}) + "\n[ports]\nblock = 2\n")
    instance.run("up")
    web = port(instance, "web", "--agent", "a")

    async def ask() -> None:
        async with started({**instance.environment(), "CORRAL_TEAM": "shop", "CORRAL_AGENT": "a"}) as model:
            assert await model.call("port_get", name="web") == {
                "port": web,
                "name": "web",
                "agent": "a",
                "team": "shop",
            }
            assert (await model.call("port_get"))["port"] == web - 1
            assert "all ports of" in await model.error("port_get", name="api")

    run(ask)
