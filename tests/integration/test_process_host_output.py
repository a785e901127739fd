"""What is kept of output: the first of it and the last of it, whatever is written, on whatever disk."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.tree import Cgroup
from corral.ports.runs import ExitStatus
from tests.faults.support.disks import Disk, small_disk
from tests.support.process_host import Hosted, hosted, memory_of, place

_MIB = 1 << 20


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


def size_of(directory: Path) -> int:
    size = 0
    for path in directory.iterdir():
        with contextlib.suppress(FileNotFoundError):  # dropped meanwhile
            size += path.stat().st_size
    return size


def test_however_much_is_written_the_rest_is_left_out_and_counted(own_directory: Path) -> None:
    first, last, width = 10_000_000, 12_000_000, 9

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            ended = await team.run("seq", str(first), str(last), keep_head=_MIB, keep_tail=2 * _MIB)
            total = (last - first + 1) * width
            assert ended.end == total
            kept = size_of(team.records / ended.process)
            assert 3 * _MIB <= kept <= 3 * _MIB + _MIB // 2
            page = team.processes.read(ended.process, 0, total)
            assert (page.next, page.omitted, page.gap_at) == (total, total - kept, _MIB)
            assert page.data[:_MIB] == _counted(first, 0, _MIB)
            assert page.data[_MIB:] == _counted(first, _MIB + page.omitted, kept - _MIB)
            assert page.data.endswith(b"12000000\n")

    def _counted(start: int, at: int, size: int) -> bytes:
        lines = range(start + at // width, start + (at + size) // width + 1)
        return b"".join(b"%d\n" % number for number in lines)[at % width :][:size]

    asyncio.run(scenario())


def test_yes_costs_neither_memory_nor_disk(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            await team.run("true")
            host = team.processes.server_pid
            assert host is not None
            before = memory_of(host)
            process = await team.start("yes", "no", keep_head=_MIB, keep_tail=_MIB)
            while (await team.processes.changed(process.process, 60 * _MIB)).end < 60 * _MIB:
                pass
            assert size_of(team.records / process.process) <= 3 * _MIB
            assert memory_of(host) - before < 4 * _MIB
            # And while it writes, others are served.
            assert (await team.run("echo", "hi")).exit == ExitStatus(code=0)
            assert await team.processes.terminate(process.process, 5) == []
            ended = await team.closed(process)
            page = team.processes.read(ended.process, 0, ended.end)
            assert page.next == ended.end
            assert page.data[: page.gap_at] == b"no\n" * (_MIB // 3) + b"n"[: _MIB % 3]
            assert len(page.data) + page.omitted == ended.end

    asyncio.run(scenario())


def test_a_client_that_does_not_read_is_let_go(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            await team.run("true")
            host = team.processes.server_pid
            assert host is not None
            await asyncio.to_thread(ask_without_end, str(own_directory / "host.sock"))
            assert memory_of(host) < 40 * _MIB
            assert (await team.run("true")).exit == ExitStatus(code=0)

    def ask_without_end(path: str) -> None:
        question = b'{"n":1,"do":"%s"}\n' % (b"x" * 1000)  # which is repeated in the answer
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                while True:
                    client.sendall(question)

    asyncio.run(scenario())


@pytest.mark.parametrize("nonsense", [b"nonsense\n", b"[1]\n", b'{"do":"start"}\n', b"\xff\xfe\n"])
def test_nonsense_on_the_socket_harms_nobody(own_directory: Path, nonsense: bytes) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            await team.run("true")
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(own_directory / "host.sock"))
                client.sendall(nonsense)
                client.settimeout(10)
                while client.recv(1 << 16):
                    pass
            assert (await team.run("true")).exit == ExitStatus(code=0)

    asyncio.run(scenario())


@pytest.fixture
def disk(own_directory: Path) -> Iterator[Disk]:
    """A small disk for the records."""
    if os.getuid() != 0:
        pytest.skip("NOT ROOT HERE, so no small disk can be mounted and filled")
    with small_disk(own_directory / "disk") as small:
        yield small


@pytest.mark.parametrize("tty", [False, True])
def test_a_full_disk_makes_a_gap_and_holds_up_nobody(own_directory: Path, disk: Disk, tty: bool) -> None:
    script = "stty -echo 2>/dev/null; read go; head -c 300000 /dev/zero | tr '\\0' x; read go; echo after"

    async def scenario() -> None:
        async with hosted(own_directory, records=disk.path / "processes") as team:
            process = await team.start(f"echo before; {script}", stdin=True, tty=tty)
            begins = (await team.says(process, b"\n")).next
            with disk.full():
                await team.processes.write(process.process, b"\n", eof=False)
                now = await team.processes.get(process.process)
                while now.end < begins + 300_000:
                    now = await team.processes.changed(process.process, now.end)
                assert "No space left" in now.trouble
                assert team.trouble == [("a", now.trouble)]
                page = team.processes.read(process.process, 0, _MIB)
                assert page.omitted + len(page.data) == page.next == now.end
                # What is started now runs as well, though nothing can be written down of it.
                other = await team.run("echo lost; exit 4")
                assert (other.exit, other.end) == (ExitStatus(code=4), 5)
                assert "recorded" in (await team.processes.get(other.process)).trouble
            await team.processes.write(process.process, b"\n", eof=False)
            ended = await team.processes.exited(process.process)
            assert ended.exit == ExitStatus(code=0)
            whole = team.processes.read(process.process, 0, _MIB)
            assert whole.data.endswith(b"after\r\n" if tty else b"after\n")
            assert whole.next == ended.end == len(whole.data) + whole.omitted
            assert whole.omitted >= 300_000 - 65536
            assert ended.trouble == ""

    asyncio.run(scenario())


def test_a_disk_that_fails_at_the_end_leaves_the_size_of_what_is_missing(own_directory: Path, disk: Disk) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, records=disk.path / "processes") as team:
            await team.run("true")
            with disk.full():
                ended = await team.run("head", "-c", "100000", "/dev/zero")
                page = team.processes.read(ended.process, 0, _MIB)
                assert (page.data, page.next, page.omitted) == (b"", 100_000, 100_000)
                assert ended.end == 100_000

    asyncio.run(scenario())


def test_a_process_without_output_makes_no_file(own_directory: Path) -> None:
    async def scenario(team: Hosted) -> None:
        await team.run("true", "x")
        assert sorted(path.name for path in team.records.iterdir()) == ["host.log", "journal"]

    async def run() -> None:
        async with hosted(own_directory) as team:
            await scenario(team)

    asyncio.run(run())
