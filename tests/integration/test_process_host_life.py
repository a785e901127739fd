"""One host for a team: who finds it, what it bears, and how it ends."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.tree import Cgroup
from corral.domain.errors import RefusedError, UnavailableError
from corral.ports.runs import ExitStatus
from tests.support.process_host import Hosted, end, hosted, kill, place
from tests.support.processes import carries, is_alive
from tests.support.waiting import wait_for


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


def test_there_is_one_host_for_a_team(own_directory: Path) -> None:
    async def scenario() -> None:
        teams = [Hosted(own_directory) for _ in range(4)]
        started = await asyncio.gather(*(team.start("sleep", "1000") for team in teams))
        assert len({team.processes.server_pid for team in teams}) == 1
        for team in teams:
            for one in started:  # what another one started is heard of, a moment later
                while one.process not in {known.process for known in await team.processes.table()}:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
        for team in teams[1:]:
            team.processes.close()
        await end(teams[0])

    asyncio.run(scenario())


def test_a_host_is_known_by_its_markers_and_alone_in_its_session(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            await team.run("true")
            host = team.processes.server_pid
            assert host is not None
            variables = Path(f"/proc/{host}/environ").read_bytes().split(b"\0")
            for marker in (f"CORRAL_INSTANCE={own_directory.name}", "CORRAL_TEAM=shop", "CORRAL_HOST=1"):
                assert marker.encode() in variables
            assert not any(variable.startswith(b"CORRAL_AGENT=") for variable in variables)
            assert os.getsid(host) == host
            assert os.readlink(f"/proc/{host}/cwd") == "/"
            assert not carries(host, str(own_directory))

    asyncio.run(scenario())


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGTERM])
def test_no_signal_ends_a_host_under_which_something_runs(own_directory: Path, number: int) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            one = await team.start("sleep", "1000")
            host = team.processes.server_pid
            assert host is not None
            os.kill(host, number)
            assert (await team.run("true", "x")).exit == ExitStatus(code=0)
            assert team.processes.server_pid == host
            os.kill(one.pid, signal.SIGKILL)
            await team.processes.exited(one.process)
            if number == signal.SIGTERM:
                wait_for(lambda: not is_alive(host), what="it ends when nothing runs any more")

    asyncio.run(scenario())


def test_a_host_does_not_end_while_something_runs_under_it(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            one = await team.start("sleep", "1000")
            with pytest.raises(RefusedError, match=one.process):
                await team.processes.end_server()
            orphan = await team.run("sleep 1000 >/dev/null 2>&1 &")
            await team.processes.terminate(one.process, 5)
            with pytest.raises(RefusedError):
                await team.processes.end_server()
            assert await team.processes.terminate(orphan.process, 5) == []

    asyncio.run(scenario())


def test_after_the_end_nothing_is_left(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        before = set(os.listdir("/proc/self/fd"))
        async with hosted(own_directory, group) as team:
            await team.run("echo some; exit 1")
            await team.start("sleep", "1000")
            host = team.processes.server_pid
            assert host is not None
        assert not is_alive(host)
        assert list(own_directory.iterdir()) == []
        await asyncio.sleep(0)
        assert set(os.listdir("/proc/self/fd")) <= before
        if group is not None:
            assert group.children() == []

    asyncio.run(scenario())


def test_a_host_that_is_stopped_does_not_answer_and_that_is_said(
    own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.adapters.subprocess.connection.ANSWER_SECONDS", 0.2)

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            over = await team.run("echo over")
            host = team.processes.server_pid
            assert host is not None
            os.kill(host, signal.SIGSTOP)
            order = team.order("exit 3")
            try:
                with pytest.raises(UnavailableError, match=f"pid {host}"):
                    await team.processes.start(order, dict(os.environ), "")
                assert team.processes.read(over.process, 0, 10).data == b"over\n"
            finally:
                os.kill(host, signal.SIGCONT)
            # Nobody knew whether it was started. To say it once more does no harm.
            await team.processes.start(order, dict(os.environ), "")
            assert (await team.processes.exited(order.process)).exit == ExitStatus(code=3)
            assert len(await team.processes.table()) == 2

    asyncio.run(scenario())


def test_hundreds_at_once(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            started = await asyncio.gather(*(team.start("echo $$; exec sleep 1000") for _ in range(300)))
            await asyncio.gather(*(team.says(one, b"\n") for one in started))
            began = time.monotonic()
            table = await team.processes.table()
            assert time.monotonic() - began < 0.5
            assert {one.process for one in table} == {one.process for one in started}
            assert [one.started_at for one in table] == sorted(one.started_at for one in table)
            assert all(one.running and one.pids == [one.pid] for one in table)
            for one in started:
                os.kill(one.pid, signal.SIGKILL)
            ended = await asyncio.gather(*(team.processes.exited(one.process) for one in started))
            assert {one.exit for one in ended} == {ExitStatus(signal=signal.SIGKILL)}

    asyncio.run(scenario())


def test_a_paused_place_holds_up_nobody_else(own_directory: Path) -> None:
    """What is to be born in a cgroup that is frozen waits there; the host does not wait with it."""

    async def scenario(group: Cgroup) -> None:
        async with hosted(own_directory, group) as team:
            await team.run("true", "x")
            group.write("cgroup.freeze", "1")
            wait_for(group.frozen, what="it is frozen")
            frozen = asyncio.ensure_future(team.start("echo born"))
            assert not (await asyncio.wait([frozen], timeout=0.05))[0]
            team.group = None
            assert (await team.run("echo", "hi")).exit == ExitStatus(code=0)
            group.write("cgroup.freeze", "0")
            assert await team.output(await frozen) == b"born\n"

    with place("cgroup") as group:
        assert group is not None
        asyncio.run(scenario(group))


def _listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def test_a_socket_of_a_dead_host_is_replaced(own_directory: Path) -> None:
    async def scenario() -> None:
        team = Hosted(own_directory)
        await team.run("true", "x")
        host = team.processes.server_pid
        assert host is not None
        team.processes.close()
        kill(host)
        assert (own_directory / "host.sock").exists()
        assert not _listening(own_directory / "host.sock")
        async with hosted(own_directory) as again:
            assert (await again.run("true", "x")).exit == ExitStatus(code=0)
            assert _listening(own_directory / "host.sock")

    asyncio.run(scenario())


def test_a_host_whose_socket_was_cleared_away_is_found_again(own_directory: Path) -> None:
    async def scenario() -> None:
        first = Hosted(own_directory)
        one = await first.start("sleep", "1000")
        host = first.processes.server_pid
        first.processes.close()
        for name in ("host.sock", "host.sock.lock"):
            (own_directory / name).unlink()
        async with hosted(own_directory) as team:
            assert (await team.run("true", "x")).exit == ExitStatus(code=0)
            assert team.processes.server_pid == host
            assert (await team.processes.get(one.process)).running
            assert (own_directory / "host.sock.lock").exists()

    asyncio.run(scenario())


def test_where_no_host_can_be_started_it_is_said(own_directory: Path) -> None:
    (own_directory / "file").write_text("")

    async def scenario() -> None:
        team = Hosted(own_directory, records=own_directory / "file" / "processes")
        with pytest.raises(UnavailableError, match="Not a directory"):
            await team.start("true", "x")
        elsewhere = Hosted(own_directory / "no" / "such", records=own_directory / "processes")
        with pytest.raises(UnavailableError, match=r"host\.sock"):
            await elsewhere.start("true", "x")
        await elsewhere.processes.end_server()

    asyncio.run(scenario())
