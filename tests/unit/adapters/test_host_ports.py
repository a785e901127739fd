"""Which ports are taken, tried on real sockets; and who listens on what."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from corral.adapters.procfs import host_ports, ports
from tests.support.ports import own_ports

LOOPBACK, LOOPBACK_6 = "127.0.0.1", "::1"


def free_port() -> int:
    """A port outside the ephemeral range that nobody has now."""
    return next(port for port in own_ports() if port not in host_ports.look([port], "i").taken)


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, LOOPBACK),
        (socket.AF_INET, "127.0.0.9"),
        (socket.AF_INET, "0.0.0.0"),
        (socket.AF_INET6, LOOPBACK_6),
        (socket.AF_INET6, "::"),
    ],
)
def test_a_port_is_taken_while_somebody_listens_at_any_address(family: socket.AddressFamily, address: str) -> None:
    if family == socket.AF_INET6 and not socket.has_dualstack_ipv6():
        pytest.skip("this host has no IPv6")
    port = free_port()
    with socket.create_server((address, port), family=family):
        assert host_ports.look([port - 1, port, port + 1], "i").taken == [port]
    assert host_ports.look([port], "i").taken == []


def test_a_listener_that_shares_its_port_has_it_all_the_same() -> None:
    port = free_port()
    with socket.create_server((LOOPBACK, port), reuse_port=True):
        assert host_ports.look([port], "i").taken == [port]


def test_looking_leaves_nothing_open() -> None:
    before = os.listdir("/proc/self/fd")
    host_ports.look(own_ports(), "i")
    assert os.listdir("/proc/self/fd") == before


def test_the_ephemeral_range_is_the_kernels(tmp_path: Path) -> None:
    first, last = host_ports.ephemeral_range()
    with socket.create_server((LOOPBACK, 0)) as one:
        assert first <= one.getsockname()[1] <= last
    file = tmp_path / "range"
    assert host_ports.ephemeral_range(str(file)) == (32768, 60999)
    file.write_text("1000\t2000\n")
    assert host_ports.ephemeral_range(str(file)) == (1000, 2000)
    file.write_text("nonsense\n")
    assert host_ports.ephemeral_range(str(file)) == (32768, 60999)


@contextmanager
def process(code: str = "", **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process of ours that says when it is ready, and then waits."""
    program = f"import socket, sys\n{code}\nprint('ready', flush=True)\nsys.stdin.read()\n"
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdin is not None
        with closing(child.stdin):
            assert child.stdout.readline() == "ready\n"
            yield child


def test_what_an_agent_of_another_instance_has_is_taken_though_it_does_not_listen() -> None:
    port = free_port()
    with process(CORRAL_INSTANCE="other", CORRAL_PORTS=f"{port}-{port + 1}"):
        assert host_ports.look([port, port + 1, port + 2], "mine").taken == [port, port + 1]
        assert host_ports.look([port, port + 1], "other").taken == []


@pytest.mark.parametrize("nonsense", ["", "-", "5", "a-b", "9-1", "-1-5", "٣١٠٠٠-٣٢٠٠٠", "1-" + "9" * 5000])
def test_nonsense_in_an_environment_takes_nothing(nonsense: str) -> None:
    with process(CORRAL_INSTANCE="other", CORRAL_PORTS=nonsense):
        port = free_port()
        assert host_ports.look([port], "mine").taken == []


def test_nobody_claims_everything() -> None:
    with process(CORRAL_INSTANCE="other", CORRAL_PORTS="1024-65535"):
        assert host_ports.look([own_ports()[99]], "mine").taken == []


def test_what_agents_listen_on_is_told_once_for_each_with_the_oldest_process() -> None:
    code = (
        "import os\n"
        "one = socket.create_server(('127.0.0.1', 0))\n"
        "if os.fork() == 0:\n    sys.stdin.read(); os._exit(0)\n"
        "print(one.getsockname()[1], flush=True)"
    )
    program = f"import socket, sys\n{code}\nsys.stdin.read()\n"
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child, socket.create_server((LOOPBACK, 0)) as own:
        assert child.stdout is not None
        port, mine = int(child.stdout.readline()), own.getsockname()[1]
        forked = [int(pid) for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()]
        found = ports.listening({"a": [child.pid, *forked], "b": [os.getpid()], "c": []}, [])
        told = {(one.agent, one.port): one for one in found}
        assert told["a", port].pid == child.pid
        assert "-c" in told["a", port].command
        assert told["b", mine].pid == os.getpid()
        assert all(agent in ("a", "b") for agent, _ in told)
        (stranger,) = ports.listening({"a": [child.pid, *forked]}, [mine])[:1]
        assert (stranger.agent, stranger.port, stranger.pid) == ("", mine, os.getpid())


def test_udp_and_connections_are_not_told() -> None:
    with (
        socket.create_server((LOOPBACK, 0)) as server,
        socket.create_connection(server.getsockname()),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind((LOOPBACK, 0))
        found = {one.port for one in ports.listening({"a": [os.getpid()]}, [udp.getsockname()[1]])}
        assert server.getsockname()[1] in found
        assert udp.getsockname()[1] not in found
