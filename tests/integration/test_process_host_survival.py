"""Who dies loses nothing: a keeper none of its processes, a host no process and no output, only how it ended."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.tree import Cgroup
from corral.domain.errors import RefusedError, UnavailableError
from corral.ports.processes import Process
from corral.ports.runs import ExitStatus
from tests.support.process_host import Hosted, end, hosted, kill, place
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

#: A keeper that starts something, says so and is not heard of again.
KEEPER = """
import asyncio, sys
from pathlib import Path
from corral.adapters.cgroup.tree import Cgroup
from tests.support.process_host import Hosted

async def main(directory, group, script):
    team = Hosted(Path(directory), Cgroup(name="", path=group) if group else None)
    process = await team.start(script, process="p1", stdin=True)
    await team.says(process, b"ready")
    print(process.pid, flush=True)
    await asyncio.sleep(1000)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


async def kill_host(team: Hosted) -> None:
    """Kill the host, and return when that is known."""
    host = team.processes.server_pid
    assert host is not None
    os.kill(host, signal.SIGKILL)
    while team.processes.server_pid == host:  # noqa: ASYNC110 - the one who is told is not us
        await asyncio.sleep(0.001)


def test_a_killed_keeper_loses_nothing(own_directory: Path, group: Cgroup | None) -> None:
    script = "echo ready; read line; echo $line; exit 5"
    words = [str(own_directory), group.path if group else "", script]
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, *words], stdout=subprocess.PIPE)
    with keeper:
        assert keeper.stdout is not None
        pid = int(keeper.stdout.readline())
        keeper.kill()

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            (found,) = await team.processes.table()
            assert (found.process, found.pid, found.running, found.pids) == ("p1", pid, True, [pid])
            assert team.processes.read("p1", 0, 100).data == b"ready\n"
            await team.processes.write("p1", b"hello\n", eof=False)
            ended = await team.processes.exited("p1")
            assert ended.exit == ExitStatus(code=5)
            assert team.processes.read("p1", 6, 100).data == b"hello\n"
            assert [one.process for one in team.ended] == ["p1"]

    asyncio.run(scenario())


def test_what_ended_while_nobody_listened_is_known(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        first = Hosted(own_directory, group)
        one = await first.start("echo ready; sleep 0.05; echo more; exit 6")
        await first.says(one, b"ready")
        host = first.processes.server_pid
        first.processes.close()
        wait_for(lambda: not is_alive(one.pid), what="it ends")
        async with hosted(own_directory, group) as team:
            (found,) = await team.processes.table()
            while found.running:
                found = await team.processes.exited(one.process)
            assert (found.exit, found.process) == (ExitStatus(code=6), one.process)
            assert await team.output(one) == b"ready\nmore\n"
            assert team.processes.server_pid == host

    asyncio.run(scenario())


def test_a_killed_host_costs_no_process_and_no_output(own_directory: Path, group: Cgroup | None) -> None:
    go = own_directory / "go"
    os.mkfifo(go)
    script = f"echo one; read line <{go}; seq 1 20000; echo last; exit 7"

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            over = await team.run("echo over; exit 3")
            one = await team.start(script)
            await team.says(one, b"one\n")
            waiting = asyncio.ensure_future(team.processes.exited(one.process))
            first = team.processes.server_pid
            await kill_host(team)
            assert len(team.lost) == 1
            assert is_alive(one.pid)
            await team.processes.changed(over.process, 0)
            await asyncio.to_thread(go.write_text, "go\n")
            ended = await waiting
            # How it ended is known where the kernel keeps it for whoever asked before, and unknown elsewhere.
            assert ended.exit in (ExitStatus(code=7), ExitStatus())
            assert not ended.running
            expected = b"one\n" + b"".join(b"%d\n" % number for number in range(1, 20001)) + b"last\n"
            assert await team.output(one) == expected
            assert team.processes.server_pid not in (None, first)
            again = await team.processes.get(over.process)
            assert (again.exit, again.closed, again.running) == (ExitStatus(code=3), True, False)
            assert await team.output(over) == b"over\n"
            assert [process.process for process in team.ended] == [over.process, one.process]

    asyncio.run(scenario())


def test_a_writer_does_not_die_with_the_host(own_directory: Path) -> None:
    """Not of SIGPIPE either: it waits until somebody reads again."""

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            one = await team.start("yes", "no", keep_head=1000, keep_tail=1000)
            await team.processes.changed(one.process, 1_000_000)
            await kill_host(team)
            before = await team.processes.get(one.process)
            assert before.running
            after = await team.processes.changed(one.process, before.end + 1_000_000)
            assert after.running
            assert await team.processes.terminate(one.process, 5) == []
            page = team.processes.read(one.process, (await team.closed(one)).end - 6, 6)
            assert page.data in (b"no\nno\n", b"o\nno\nn", b"\nno\nno")

    asyncio.run(scenario())


def test_orphans_are_found_again_after_the_host_was_killed(own_directory: Path, group: Cgroup | None) -> None:
    """The command has ended; what it left behind still writes, and can still be ended."""

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            ended = await team.run("setsid sh -c 'while :; do echo tick; sleep 0.01; done' & exit 2")
            await team.says(ended, b"tick\n")
            (survivor, *_) = await team.processes.members(ended.process)
            other = await team.start("sleep", "1000")
            await kill_host(team)
            assert (await team.processes.get(other.process)).running
            now = await team.processes.changed(ended.process, (await team.processes.get(ended.process)).end, late=True)
            assert (now.exit, now.closed) == (ExitStatus(code=2), False)
            assert survivor.pid in [one.pid for one in await team.processes.members(ended.process)]
            assert await team.processes.terminate(ended.process, 5) == []
            assert not is_alive(survivor.pid)
            assert (await team.closed(ended)).closed

    asyncio.run(scenario())


def test_without_a_host_the_disk_tells_what_can_be_known(own_directory: Path) -> None:
    async def scenario() -> None:
        team = Hosted(own_directory)
        over = await team.run("echo over; exit 3")
        gone = await team.start("sleep", "1000")
        stays = await team.start("sleep", "1000")
        await team.closed(over)
        host = team.processes.server_pid
        assert host is not None
        team.processes.close()
        kill(host)
        kill(gone.pid)
        later = Hosted(own_directory)
        found = {process.process: process for process in await later.processes.table()}
        assert later.processes.server_pid is None
        assert found[over.process].exit == ExitStatus(code=3)
        assert (found[gone.process].running, found[gone.process].exit) == (False, ExitStatus())
        assert (found[stays.process].running, found[stays.process].pids) == (True, [stays.pid])
        assert later.processes.read(over.process, 0, 100).data == b"over\n"
        assert (await later.processes.exited(gone.process)).exit == ExitStatus()
        assert later.processes.server_pid is None
        # To wait for one that runs needs somebody who is told.
        waiting = asyncio.ensure_future(later.processes.exited(stays.process))
        await asyncio.sleep(0)
        os.kill(stays.pid, signal.SIGTERM)
        assert not (await waiting).running
        assert later.processes.server_pid is not None
        await end(later)

    asyncio.run(scenario())


def test_a_torn_journal_is_read_as_far_as_it_goes(own_directory: Path) -> None:
    async def scenario() -> None:
        team = Hosted(own_directory)
        first: Process = await team.run("echo one; exit 1")
        await team.closed(first)
        host = team.processes.server_pid
        assert host is not None
        team.processes.close()
        kill(host)
        with open(team.records / "journal", "ab") as file:
            file.write(b'nonsense\n5\n[]\n{}\n{"process":"p9","changed":{}}\n{"started":')
        async with hosted(own_directory) as again:
            (found,) = await again.processes.table()
            assert (found.process, found.exit) == (first.process, ExitStatus(code=1))
            assert (await again.run("true", "x")).exit == ExitStatus(code=0)
            assert len(await again.processes.table()) == 2

    asyncio.run(scenario())


def test_a_host_that_is_killed_at_a_birth_leaves_nothing_unknown_and_nothing_is_run_twice(
    own_directory: Path, group: Cgroup | None
) -> None:
    """However often it is killed while commands are started: each is known, and each ran once at most."""

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            await team.run("true")
            for number in range(30):
                order = f"p{number:010x}"
                script = f"echo $$ >>{own_directory}/ran.{number}; exec sleep 1000"
                starting = asyncio.ensure_future(team.start(script, process=order))
                await asyncio.sleep(0.0003 * (number % 8))
                host = team.processes.server_pid
                if host is not None:
                    os.kill(host, signal.SIGKILL)
                for _ in range(20):
                    try:
                        await starting
                        break
                    except UnavailableError:
                        starting = asyncio.ensure_future(team.start(script, process=order))
            known = {process.process: process for process in await team.processes.table()}
            for number in range(30):
                ran = own_directory / f"ran.{number}"
                pids = ran.read_text().split() if ran.exists() else []
                assert len(pids) <= 1, "it was run twice"
                if pids and is_alive(int(pids[0])):
                    assert int(pids[0]) in known[f"p{number:010x}"].pids

    asyncio.run(scenario())


def test_what_may_be_lost_with_a_host_is_said(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            process = await team.start(f"echo first; until [ -e {own_directory}/go ]; do sleep 0.01; done; echo last")
            await team.says(process, b"first")
            host = team.processes.server_pid
            assert host is not None
            os.kill(host, signal.SIGSTOP)  # it reads nothing any more
            (own_directory / "go").touch()
            wait_for(lambda: not is_alive(process.pid), what="the command has ended")
            os.kill(host, signal.SIGKILL)
            while (now := await team.processes.get(process.process)).running or not now.trouble:  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # the one who is told is not us
            assert "what it wrote last may be missing" in now.trouble

    asyncio.run(scenario())


def test_input_that_ended_with_its_host_is_said_to_have(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            process = await team.start("cat; exec sleep 1000", stdin=True)
            await kill_host(team)
            with pytest.raises(RefusedError, match="the host that held its input was killed"):
                await team.processes.write(process.process, b"x", eof=False)

    asyncio.run(scenario())
