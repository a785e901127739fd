"""What is written to a process, and processes that have a terminal."""

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.subprocess.host_child import QUEUE_BYTES
from corral.domain.errors import RefusedError
from corral.ports.runs import ExitStatus
from tests.support.process_host import hosted, place
from tests.support.processes import is_alive


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


def test_it_reads_what_is_written_until_its_end(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            process = await team.start("cat", "-", stdin=True)
            assert process.stdin
            await team.processes.write(process.process, b"one\n", eof=False)
            await team.says(process, b"one\n")
            await team.processes.write(process.process, b"two\0\xff\n", eof=True)
            ended = await team.processes.exited(process.process)
            assert ended.exit == ExitStatus(code=0)
            assert await team.output(ended) == b"one\ntwo\0\xff\n"

    asyncio.run(scenario())


def test_a_lot_arrives_in_order(own_directory: Path) -> None:
    data = os.urandom(5_000_000)

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            process = await team.start("sha256sum", "-", stdin=True)
            await asyncio.gather(
                team.processes.write(process.process, data, eof=False),
                team.processes.write(process.process, b"", eof=True),
            )
            assert (await team.output(process)).startswith(hashlib.sha256(data).hexdigest().encode())

    asyncio.run(scenario())


def test_writing_where_nobody_reads_is_refused(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            closed = await team.start("cat", "-")
            with pytest.raises(RefusedError, match="not started to be written to"):
                await team.processes.write(closed.process, b"x", eof=False)
            assert (await team.processes.exited(closed.process)).exit == ExitStatus(code=0)
            told = await team.start("sleep", "1000", stdin=True)
            await team.processes.write(told.process, b"x", eof=True)
            with pytest.raises(RefusedError, match="the end of its input"):
                await team.processes.write(told.process, b"x", eof=False)
            ended = await team.run("exec <&-; exit 0", stdin=True)
            with pytest.raises(RefusedError, match="does not read any more"):
                await team.processes.write(ended.process, b"x", eof=False)

    asyncio.run(scenario())


def test_what_a_process_does_not_read_is_bounded(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            process = await team.start("sleep", "1000", stdin=True)
            await team.processes.write(process.process, bytes(1 << 20), eof=False)
            with pytest.raises(RefusedError, match="does not read"):
                await team.processes.write(process.process, bytes(QUEUE_BYTES), eof=False)
            await team.processes.write(process.process, bytes(1 << 20), eof=False)
            assert (await team.run("echo", "still here")).exit == ExitStatus(code=0)
            assert is_alive(process.pid)

    asyncio.run(scenario())


def test_a_terminal_is_one(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            process = await team.start("tty; stty size; test -t 2 && echo yes; read line; echo got $line", tty=True,
                                       columns=100, rows=30)  # fmt: skip
            assert process.tty
            assert process.stdin
            page = await team.says(process, b"yes\r\n")
            assert page.data.startswith(b"/dev/pts/")
            assert b"\r\n30 100\r\n" in page.data
            await team.processes.write(process.process, b"hello\n", eof=False)
            ended = await team.processes.exited(process.process)
            assert ended.exit == ExitStatus(code=0)
            assert (await team.output(ended)).endswith(b"hello\r\ngot hello\r\n")

    asyncio.run(scenario())


def test_all_that_was_written_to_a_terminal_is_there_at_the_end(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            for _ in range(5):
                ended = await team.run("seq 1 2000; printf last", tty=True)
                page = team.processes.read(ended.process, 0, 1 << 20)
                assert page.data.replace(b"\r", b"") == b"".join(b"%d\n" % n for n in range(1, 2001)) + b"last"

    asyncio.run(scenario())


def test_the_end_of_input_is_told_on_a_terminal(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            for data in (b"", b"line\n", b"no line"):
                process = await team.start("stty -echo; echo ready; cat; echo over", tty=True)
                await team.says(process, b"ready")
                await team.processes.write(process.process, data, eof=True)
                await team.processes.exited(process.process)
                expected = b"ready\n" + data + b"over\n"
                assert (await team.output(process)).replace(b"\r", b"") == expected

    asyncio.run(scenario())


def test_a_terminal_changes_its_size_and_tells(own_directory: Path) -> None:
    script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.01; done"

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            process = await team.start(script, tty=True)
            await team.says(process, b"ready")
            await team.processes.resize(process.process, 133, 44)
            assert b"44 133" in await team.output(process)
            without = await team.start("sleep", "1000")
            with pytest.raises(RefusedError, match="no terminal"):
                await team.processes.resize(without.process, 80, 24)

    asyncio.run(scenario())


#: A shell with job control: the program in the foreground is in a group of its own, and so is what is behind it.
JOBS = """
set -m
sleep 1000 &
echo behind $!
sh -c 'trap "echo interrupted; exit 5" INT; echo ready; while :; do sleep 0.01; done'
echo code $?
read line
"""


def test_int_on_a_terminal_reaches_the_foreground_alone(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            process = await team.start("bash", "-c", JOBS, tty=True)
            page = await team.says(process, b"ready")
            behind = int(page.data.split(b"behind ")[1].split()[0])
            assert await team.processes.signal(process.process, signal.SIGINT) >= 1
            await team.says(process, b"code 5")
            assert is_alive(behind)
            assert (await team.processes.get(process.process)).running

    asyncio.run(scenario())


def test_int_without_a_terminal_reaches_the_whole_tree(own_directory: Path, group: Cgroup | None) -> None:
    # Python, because a shell has what it puts in the background ignore SIGINT.
    program = "import subprocess, sys; subprocess.Popen(['sleep', '1000'], start_new_session=True); print('ready', flush=True); sys.stdin.read()"  # noqa: E501

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            process = await team.start(sys.executable, "-S", "-c", program, stdin=True)
            await team.says(process, b"ready")
            assert await team.processes.signal(process.process, signal.SIGINT) == 2
            await team.closed(process)
            await team.gone(process)

    asyncio.run(scenario())


def test_the_end_of_a_terminals_input_is_told_within_a_line_too(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            process = await team.start("cat", "-", tty=True)
            await team.processes.write(process.process, b"abc", eof=False)
            await team.processes.write(process.process, b"", eof=True)
            async with asyncio.timeout(20):
                ended = await team.processes.exited(process.process)
            assert ended.exit == ExitStatus(code=0)
            assert b"abcabc" in await team.output(process)

    asyncio.run(scenario())


#: Lets go of its terminal as programs do that are about to end, and takes its time with that.
LETS_GO = "import os, time; [os.close(number) for number in (0, 1, 2)]; time.sleep(0.5)"


def test_a_program_that_lets_go_of_its_terminal_ends_as_it_wants_to(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            process = await team.start(sys.executable, "-S", "-c", f"{LETS_GO}; os._exit(7)", tty=True)
            async with asyncio.timeout(20):
                ended = await team.processes.exited(process.process)
            assert ended.exit == ExitStatus(code=7)
            await team.closed(process)

    asyncio.run(scenario())


def test_a_program_may_come_back_to_its_terminal(own_directory: Path) -> None:
    program = f"{LETS_GO}; os.write(os.open('/dev/tty', os.O_RDWR), b'back again'); time.sleep(0.5); os._exit(7)"

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            process = await team.start(sys.executable, "-S", "-c", program, tty=True)
            await team.says(process, b"back again")
            async with asyncio.timeout(20):
                ended = await team.processes.exited(process.process)
            assert ended.exit == ExitStatus(code=7)
            await team.closed(process)

    asyncio.run(scenario())
