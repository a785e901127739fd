"""The census counts who listens at the team's socket, whatever sockets others make, and what is left of tmux."""

import asyncio
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from corral.adapters.procfs import containment, ending, unix_listeners
from corral.adapters.procfs.containment import ProcessContainment
from corral.adapters.procfs.processes import Process
from corral.places import Places
from corral.ports.census import Check


@pytest.fixture
def places(own_directory: Path) -> Places:
    found = Places(str(own_directory / "h"), str(own_directory / "r"))
    found.create()
    return found


@pytest.fixture
def odd_names(places: Places) -> Iterator[None]:
    """Names that would be lines of /proc/net/unix: one that cannot be read, and one that tells of our socket."""
    path = os.fsencode(places.tmux_socket("shop"))
    names = (b"\0%d\na b c qux e f g x" % os.getpid(), b"\0\n0: 00000002 00000000 00010000 0001 01 4711 " + path)
    made = [socket.socket(socket.AF_UNIX) for _ in names]
    for one, name in zip(made, names, strict=True):
        one.bind(name)
        one.listen()
    yield
    for one in made:
        one.close()


INSTANCE = "0123456789ab"
#: Is called what tmux calls its clients, and ends with its standard input.
CLIENT = "import sys; open('/proc/self/comm', 'w').write('tmux: client'); print(flush=True); sys.stdin.read()"


def check_of(places: Places, what: str) -> Check:
    checks = asyncio.run(ProcessContainment(places, INSTANCE).census("shop"))
    return next(check for check in checks if check.what == what)


def sockets_check(places: Places) -> Check:
    return check_of(places, "sockets")


@contextmanager
def tmux_client() -> Iterator["subprocess.Popen[bytes]"]:
    marked = {**os.environ, "CORRAL_INSTANCE": INSTANCE, "CORRAL_TEAM": "shop"}
    argv = [sys.executable, "-c", CLIENT]
    with subprocess.Popen(argv, env=marked, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        client.stdout.readline()
        yield client
        client.communicate()


def test_a_client_whose_server_is_gone_has_a_moment_to_hear_of_it(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = ending.wait_gone
    with tmux_client() as client:

        async def hears(processes: list[Process], seconds: float) -> bool:
            assert [process.pid for process in processes] == [client.pid]
            assert client.stdin is not None
            client.stdin.close()
            return await waits(processes, seconds)

        monkeypatch.setattr(ending, "wait_gone", hears)
        assert check_of(places, "tmux_servers") == Check(what="tmux_servers", found=0)
        client.stdin = None


def test_a_client_that_stays_is_named(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "_CLIENT_SECONDS", 0.05)
    with tmux_client() as client:
        check = check_of(places, "tmux_servers")
        assert [residue.pid for residue in check.residue] == [client.pid]


@pytest.mark.usefixtures("odd_names")
def test_names_with_newlines_are_nobody_at_our_socket(places: Places) -> None:
    assert sockets_check(places) == Check(what="sockets", found=0)


@pytest.mark.usefixtures("odd_names")
def test_a_listener_that_is_left_is_named_with_its_pid_also_if_its_file_is_gone(places: Places) -> None:
    path = places.tmux_socket("shop")
    script = (
        "import socket,sys; s=socket.socket(1); s.bind(sys.argv[1]); s.listen(); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as left:
        assert left.stdout is not None
        left.stdout.readline()
        os.unlink(path)
        check = sockets_check(places)
        left.communicate()
    assert check.found == 1
    (residue,) = check.residue
    assert (residue.kind, residue.name, residue.pid) == ("socket", path, left.pid)


def test_a_team_of_a_longer_name_is_another_team(places: Places) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as other:
        other.bind(places.tmux_socket("shop-2"))
        other.listen()
        assert sockets_check(places).found == 0


def test_a_kernel_that_does_not_tell_makes_it_uncounted_and_not_nothing(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> list[unix_listeners.Listener]:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(unix_listeners, "listeners", refused)
    check = sockets_check(places)
    assert check.found is None
    assert [residue.name for residue in check.residue] == [places.tmux_socket("shop")]
    assert "No such file" in check.residue[0].why
