"""Processes under a host: how they start, what they find, how they end, and what is left of it."""

import asyncio
import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.tree import Cgroup
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.ports.runs import ExitStatus
from tests.support.process_host import Hosted, hosted, place
from tests.support.processes import is_alive


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


def test_a_command_runs_and_ends(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            began = time.time()
            started = await team.start("echo hello; echo wrong >&2; exit 3")
            assert (started.agent, started.command) == ("a", "echo hello; echo wrong >&2; exit 3")
            assert started.pid > 1
            ended = await team.processes.exited(started.process)
            assert (ended.running, ended.exit, ended.pids) == (False, ExitStatus(code=3), [])
            assert ended.ended_at is not None
            assert began - 1 < ended.started_at <= ended.ended_at <= time.time() + 1
            assert await team.output(ended) == b"hello\nwrong\n"
            assert [process.process for process in team.ended] == [started.process]

    asyncio.run(scenario())


def test_a_death_by_signal_is_told_from_an_exit_code(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            assert (await team.run("kill -KILL $$")).exit == ExitStatus(signal=signal.SIGKILL)
            assert (await team.run("kill -SEGV $$")).exit == ExitStatus(signal=signal.SIGSEGV)
            assert (await team.run("exit 137")).exit == ExitStatus(code=137)

    asyncio.run(scenario())


def test_an_order_that_arrives_twice_starts_one_process(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            order = team.order("echo once; sleep 1000")
            where = group.path if group else ""
            first, second = await asyncio.gather(
                *(team.processes.start(order, dict(os.environ), where) for _ in range(2))
            )
            assert first.pid == second.pid
            await team.says(first, b"once\n")
            third = await team.processes.start(order, dict(os.environ), where)
            assert (third.pid, third.running) == (first.pid, True)
            assert len(await team.processes.table()) == 1

    asyncio.run(scenario())


def test_the_last_bytes_are_there_when_the_end_is_told(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            for number in range(20):
                ended = await team.run(f"head -c 50000 /dev/zero | tr '\\0' x; printf 'last {number}'")
                page = team.processes.read(ended.process, 0, 1 << 20)
                assert page.data == b"x" * 50000 + b"last %d" % number
                assert ended.end == len(page.data)

    asyncio.run(scenario())


def test_output_is_the_bytes_that_were_written(own_directory: Path) -> None:
    data = bytes(range(256)) * 300

    async def scenario() -> None:
        (own_directory / "data").write_bytes(data)
        async with hosted(own_directory) as team:
            assert await team.output(await team.run("cat data")) == data

    asyncio.run(scenario())


def test_exited_is_not_closed(own_directory: Path, group: Cgroup | None) -> None:
    """What a command leaves behind holds its output open; its end is known at once, and late output is readable."""

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            waits = own_directory / "go"
            os.mkfifo(waits)
            ended = await team.run(f"(read line <{waits}; echo late) & echo early")
            assert (ended.running, ended.closed, ended.exit) == (False, False, ExitStatus(code=0))
            assert team.processes.read(ended.process, 0, 100).data == b"early\n"
            (survivor,) = await team.processes.members(ended.process)
            assert is_alive(survivor.pid)
            now = await team.processes.get(ended.process)
            assert (now.pids, now.closed) == ([survivor.pid], False)
            late = asyncio.ensure_future(team.processes.changed(ended.process, 6, late=True))
            assert not (await asyncio.wait([late], timeout=0.05))[0]
            waits.write_text("go\n")
            assert (await late).end > 6
            assert await team.output(ended) == b"early\nlate\n"
            await team.gone(ended)

    asyncio.run(scenario())


def test_waiting_can_be_given_up_and_consumes_nothing(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            process = await team.start("read line; echo $line", stdin=True)
            for wait in (team.processes.exited(process.process), team.processes.changed(process.process, 0)):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(wait, 0.02)
            first, second = (asyncio.ensure_future(team.processes.changed(process.process, 0)) for _ in range(2))
            await asyncio.sleep(0)
            await team.processes.write(process.process, b"hello\n", eof=False)
            assert (await first).end == (await second).end == 6
            assert await team.output(process) == b"hello\n"

    asyncio.run(scenario())


def test_ids_that_there_are_not(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            await team.run("true")
            for unknown in ("p0", "", "../h", "no/such"):
                for ask in (team.processes.get, team.processes.members, team.processes.exited):
                    with pytest.raises(NotFoundError):
                        await ask(unknown)
                with pytest.raises(NotFoundError):
                    team.processes.read(unknown, 0, 10)
                with pytest.raises(NotFoundError):
                    await team.processes.write(unknown, b"", eof=True)
            with pytest.raises(WrongUseError):
                await team.start("true", process="../../elsewhere")

    asyncio.run(scenario())


def test_what_is_kept_is_for_its_user_alone(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            await team.run("echo secret")
            for path in (team.records, *team.records.rglob("*"), own_directory / "host.sock"):
                assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path

    asyncio.run(scenario())


def test_forgetting_drops_the_record_and_the_output(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            ended, other = await team.run("echo a"), await team.run("echo b")
            running = await team.start("sleep 1000")
            with pytest.raises(RefusedError):
                await team.processes.forget([ended.process, running.process])
            left_behind = await team.run("sleep 1000 >/dev/null 2>&1 & echo c")
            with pytest.raises(RefusedError):
                await team.processes.forget([left_behind.process])
            await team.processes.forget([ended.process])
            with pytest.raises(NotFoundError):
                await team.processes.get(ended.process)
            with pytest.raises(NotFoundError):
                team.processes.read(ended.process, 0, 10)
            assert not (team.records / ended.process).exists()
            assert await team.output(other) == b"b\n"

    asyncio.run(scenario())


def test_nothing_is_started_by_looking(own_directory: Path) -> None:
    async def scenario() -> None:
        team = Hosted(own_directory)
        assert await team.processes.table() == []
        assert team.processes.server_pid is None
        with pytest.raises(NotFoundError):
            await team.processes.get("p1")
        with pytest.raises(NotFoundError):
            team.processes.read("p1", 0, 10)
        await team.processes.end_server()
        team.processes.close()
        assert list(own_directory.iterdir()) == []

    asyncio.run(scenario())
