"""What a command starts belongs to it, whatever it does to its session, its parents or its environment."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.tree import Cgroup
from corral.ports.processes import Process, Survivor
from corral.ports.runs import ExitStatus
from tests.support.process_host import Hosted, hosted, place
from tests.support.processes import is_alive, process
from tests.support.waiting import wait_for

#: What commands leave behind; each says its pid, and runs on when the shell has ended.
HABITS = {
    "plain": "sleep 1000 & echo $!",
    "setsid": "setsid sh -c 'echo $$; exec sleep 1000' & wait_for_it",
    "nohup": "nohup sh -c 'echo $$; exec sleep 1000' & wait_for_it",
    "double fork": "(setsid sh -c 'sleep 1000 & echo $!' &) ; wait_for_it",
    "no environment": "(env -i setsid sh -c 'echo $$; exec sleep 1000' &) ; wait_for_it",
    "no environment, no output": "(env -i setsid sh -c 'echo $$ >pid; exec sleep 1000 >/dev/null 2>&1' &) ; cat_pid",
    "nothing held open": "(setsid sh -c 'echo $$; exec sleep 1000 <&- >&- 2>&-' &) ; wait_for_it",
}
#: The shell ends when the pid was written, so that the test knows what to look for.
HELPERS = "wait_for_it() { sleep 0.2; }; cat_pid() { until [ -s pid ]; do sleep 0.01; done; cat pid; }; "


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


async def left_behind(team: Hosted, habit: str) -> tuple[Process, int]:
    """Run a command that leaves something behind: its process, and the pid of that."""
    ended = await team.run(HELPERS + HABITS[habit])
    pid = int((await team.says(ended, b"\n")).data)
    assert is_alive(pid)
    return ended, pid


@pytest.mark.parametrize("habit", HABITS)
def test_what_outlives_a_command_is_known_and_ended(own_directory: Path, group: Cgroup | None, habit: str) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            other = await team.start("sleep", "1000")
            ended, pid = await left_behind(team, habit)
            assert [member.pid for member in await team.processes.members(ended.process)] == [pid]
            assert {one.process: one.pids for one in await team.processes.table()} == {
                other.process: [other.pid],
                ended.process: [pid],
            }
            assert await team.processes.terminate(ended.process, 5) == []
            assert not is_alive(pid)
            assert is_alive(other.pid)
            assert (await team.processes.get(ended.process)).pids == []

    asyncio.run(scenario())


def test_a_signal_reaches_all_of_it_and_nothing_else(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            other = await team.start("sleep", "1000")
            one = await team.start("sleep 1000 & setsid sleep 1000 & echo ready; wait")
            await team.says(one, b"ready")
            wait_for(lambda: _sleeping(one.pid) == 2, what="both sleep")
            pids = {member.pid for member in await team.processes.members(one.process)}
            assert len(pids) == 3
            assert await team.processes.signal(one.process, signal.SIGTERM) == 3
            assert (await team.processes.exited(one.process)).exit == ExitStatus(signal=signal.SIGTERM)
            wait_for(lambda: not any(is_alive(pid) for pid in pids), what="all of them end")
            assert await team.processes.members(one.process) == []
            assert await team.processes.signal(one.process, signal.SIGTERM) == 0
            assert is_alive(other.pid)

    asyncio.run(scenario())


def _sleeping(parent: int) -> int:
    found = [process(int(pid)) for pid in os.listdir("/proc") if pid.isdigit()]
    return sum(one is not None and one.parent == parent and one.name == "sleep" for one in found)


def test_a_stopped_one_hears_it(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            one = await team.start("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done")
            await team.says(one, b"ready")
            assert await team.processes.signal(one.process, signal.SIGSTOP) >= 1
            await team.processes.signal(one.process, signal.SIGTERM)
            assert (await team.processes.exited(one.process)).exit == ExitStatus(code=7)

    asyncio.run(scenario())


def test_any_signal_can_be_sent(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            one = await team.start("bash", "-c", "trap 'exit 9' RTMIN+3; echo ready; while :; do sleep 0.01; done")
            await team.says(one, b"ready")
            await team.processes.signal(one.process, signal.SIGRTMIN + 3)
            ended = await team.processes.exited(one.process)
            assert ended.exit in (ExitStatus(code=9), ExitStatus(code=128 + signal.SIGRTMIN + 3))

    asyncio.run(scenario())


def test_one_that_does_not_listen_is_killed_after_the_grace(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            polite = await team.start("trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.01; done")
            stubborn = await team.start("trap '' TERM HUP; echo ready; while :; do sleep 0.01; done")
            for one in (polite, stubborn):
                await team.says(one, b"ready")
            assert await team.processes.terminate(polite.process, 5) == []
            assert (await team.processes.get(polite.process)).exit == ExitStatus(code=4)
            assert (await team.output(polite)).endswith(b"bye\n")
            assert await team.processes.terminate(stubborn.process, 0.1) == []
            assert (await team.processes.get(stubborn.process)).exit == ExitStatus(signal=signal.SIGKILL)

    asyncio.run(scenario())


def test_orphans_of_a_command_leave_no_zombies(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            for _ in range(5):
                await team.run("for i in 1 2 3 4; do (true &); (sleep 0.01 &); done")
            host = team.processes.server_pid
            assert host is not None
            wait_for(lambda: _children(host) == [], what="the host has no children")

    asyncio.run(scenario())


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_process_whose_leader_is_a_zombie_is_not_alive(own_directory: Path, group: Cgroup | None) -> None:
    """A zombie whose parent does not reap it is nobody's member."""
    program = "import os, time; pid = os.fork() or os._exit(0); print(pid, flush=True); time.sleep(1000)"

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            one = await team.start(sys.executable, "-S", "-c", program)
            zombie = int((await team.says(one, b"\n")).data)
            wait_for(lambda: not is_alive(zombie), what="a zombie")
            assert [member.pid for member in await team.processes.members(one.process)] == [one.pid]
            assert await team.processes.signal(one.process, signal.SIGKILL) == 1

    asyncio.run(scenario())


def test_cgroups_that_a_command_made_below_its_own_go_too(own_directory: Path) -> None:
    script = "own=$1; mkdir $own/deep $own/deep/er; sleep 1000 & echo $! >$own/deep/er/cgroup.procs; echo $!"

    async def scenario(group: Cgroup) -> None:
        async with hosted(own_directory, group) as team:
            own = group.child("process-nested")
            ended = await team.run("sh", "-c", script, "x", own.path, process="nested")
            pid = int((await team.says(ended, b"\n")).data)
            assert [member.pid for member in await team.processes.members("nested")] == [pid]
            assert await team.processes.terminate("nested", 5) == []
            wait_for(lambda: not own.exists(), what="its cgroups go")

    with place("cgroup") as group:
        assert group is not None
        asyncio.run(scenario(group))


def test_with_and_without_a_cgroup_side_by_side(own_directory: Path) -> None:
    """The run of an agent without a terminal is given its place later; the host has never seen it in a cgroup."""
    orphan = "(env -i setsid sleep 1000 >/dev/null 2>&1 &) ; "

    async def scenario(group: Cgroup) -> None:
        async with hosted(own_directory, group) as team:
            inside = await team.start(orphan + "exec sleep 1000")
            team.group = None
            outside = await team.start(orphan + "echo ready; exec sleep 1000")
            await team.says(outside, b"ready")
            for one in (inside, outside):  # the two that stay, once the shells between them are gone
                while _names(await team.processes.members(one.process)) != ["sleep 1000"] * 2:  # noqa: ASYNC110  # noqa: ASYNC110 - nobody tells of it
                    await asyncio.sleep(0.005)
            assert {one.pid for one in await team.processes.members(inside.process)} == set(group.pids())
            members = {one.pid for one in await team.processes.members(outside.process)}
            assert outside.pid in members
            assert not members & set(group.pids())
            assert await team.processes.terminate(outside.process, 5) == []
            assert len(group.pids()) == 2
            assert not any(is_alive(pid) for pid in members)

    with place("cgroup") as group:
        assert group is not None
        asyncio.run(scenario(group))


def _names(members: list[Survivor]) -> list[str]:
    return [member.command for member in members]


def test_what_is_just_being_started_is_nobody_elses(own_directory: Path) -> None:
    """While something is ended, others are born under the same host: they are not taken for orphans of it."""

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            others = []
            for _ in range(4):
                ended, pid = await left_behind(team, "no environment, no output")
                starting = [asyncio.ensure_future(team.start("sleep", "1000")) for _ in range(5)]
                assert await team.processes.terminate(ended.process, 0) == []
                others += await asyncio.gather(*starting)
                assert not is_alive(pid)
                (own_directory / "pid").unlink()
            assert all(is_alive(one.pid) for one in others)

    asyncio.run(scenario())
