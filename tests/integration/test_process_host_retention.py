"""What a host remembers of commands and what it forgets, as the last one said; and never what somebody waits for."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.subprocess import segments
from corral.adapters.subprocess.host_child import Child
from corral.adapters.subprocess.host_loop import Loop
from corral.adapters.subprocess.host_memory import Memory
from corral.adapters.subprocess.host_retention import ENDED_RECORDS, FRESH_SECONDS
from corral.adapters.subprocess.records import ProcessRecord
from corral.ports.runs import ExitStatus
from tests.support.process_host import Hosted, hosted, kill, place

_MIB = 1 << 20


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


async def known(team: Hosted) -> list[str]:
    return [process.process for process in await team.processes.table()]


async def left_of(team: Hosted, count: int) -> list[str]:
    """Wait until so many are remembered and no more: it is done a while after they ended."""
    async with asyncio.timeout(FRESH_SECONDS * 2 + 10):
        while len(left := await known(team)) > count:  # noqa: ASYNC110 - it is told, but not to us
            await asyncio.sleep(0.02)
    return left


def test_as_many_that_are_over_are_remembered_as_is_usual(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            kept = await team.run("echo", "of another agent", agent="b")
            running = await team.start("sleep", "1000")
            survivor = await team.run("sleep 1000 >/dev/null 2>&1 &")
            first = await team.run("echo", "first")
            for _ in range(ENDED_RECORDS // 20):
                await asyncio.gather(*(team.run("true", "x") for _ in range(20)))
            last = await team.run("echo", "last")
            left = set(await known(team))
            while first.process in left or len(left) > ENDED_RECORDS + 4:  # it is told when it is done
                await asyncio.sleep(0.005)
                left = set(await known(team))
            assert not (team.records / first.process).exists()
            assert len(left) > ENDED_RECORDS // 2
            assert {kept.process, running.process, survivor.process, last.process} <= left

    asyncio.run(scenario())


def test_no_more_that_are_over_are_remembered_than_was_said_last(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            other = await team.run("echo", "of another agent", agent="b")
            running = await team.start("sleep", "1000")
            agent = await team.run("echo", "a run of the agent", process="run-1", keep_records=None, keep_disk=None)
            before = [(await team.run("echo", "x")).process for _ in range(4)]
            assert len(await known(team)) == 7
            ended = [(await team.run("echo", "x", keep_records=3)).process for _ in range(5)]
            # For a moment all of them can be looked at.
            assert set(before + ended) <= set(await known(team))
            assert await left_of(team, 6) == [other.process, running.process, agent.process, *ended[2:]]
            assert not (team.records / ended[0]).exists()
            assert (await team.processes.get(running.process)).running

    asyncio.run(scenario())


def test_what_nobody_has_seen_stays_longer_than_what_somebody_has(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            unseen = [(await team.run("echo", "x", keep_records=3)).process for _ in range(2)]
            seen = [(await team.run("echo", "x", keep_records=3)).process for _ in range(6)]
            for process in seen:
                team.processes.answered(process)
            assert await left_of(team, 3) == [*unseen, seen[-1]]

    asyncio.run(scenario())


def test_whoever_waits_for_an_end_sees_it_however_few_are_remembered(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:

            async def run(number: int) -> str:
                ended = await team.run(f"echo {number}; exit 3", keep_records=1, keep_disk=_MIB, keep_tail=_MIB)
                assert ended.exit == ExitStatus(code=3)
                await asyncio.sleep(0.5)
                assert await team.output(ended) == b"%d\n" % number
                return ended.process

            ended = await asyncio.gather(*(run(number) for number in range(100)))
            (left,) = await left_of(team, 1)
            assert left in ended

    asyncio.run(scenario())


def test_what_was_said_holds_for_the_next_host_too(own_directory: Path) -> None:
    async def scenario() -> None:
        team = Hosted(own_directory)
        count = ENDED_RECORDS + 20
        await team.run("true", "x", keep_records=2)
        await asyncio.gather(*(team.run("true", "x", keep_records=1000) for _ in range(count)))
        host = team.processes.server_pid
        assert host is not None
        team.processes.close()
        kill(host)
        async with hosted(own_directory) as again:
            await again.run("true", "x", process="run-1", keep_records=None, keep_disk=None)
            assert len(await known(again)) == count + 2
            last = await again.run("true", "x", keep_records=1)
            assert await left_of(again, 2) == ["run-1", last.process]

    asyncio.run(scenario())


class Shelves:
    """A host's memory, with children that write when a test says so."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.loop = Loop()
        self.memory = Memory(str(directory), self.loop, lambda _: None)
        self._children: list[Child] = []

    def child(self, name: str, **facts: object) -> Child:
        known = {"process": name, "agent": "a", "command": "", "pid": 0, "start": 0, "boot": "", "host": os.getpid()}
        more = {"cgroup": "gone", "output": "", "tty": False, "stdin": False, "started_at": 0.0}
        kept = {"keep_head": 1000, "keep_tail": 8 * _MIB, "keep_records": 200, "keep_disk": _MIB}
        record = ProcessRecord({**known, **more, **kept, **facts})
        found = Child(record, self.memory.output_for(record), self.loop, lambda _: None, lambda _: None)
        self.memory.add(found)
        self._children.append(found)
        return found

    def over(self, name: str, size: int, ended_at: float, *, fresh: bool = False, **facts: object) -> Child:
        """One that has written so much and ended: just now, or longer ago."""
        one = self.child(name, running=False, closed=True, ended_at=ended_at, **facts)
        self.write(one, size)
        self.memory.finished(one)
        if not fresh:
            one.finished_at -= FRESH_SECONDS
        return one

    def write(self, one: Child, size: int) -> None:
        for _ in range(size // 50_000):
            one.output.add(bytes(50_000))
        self.memory.make_room(one)

    @property
    def left(self) -> set[str]:
        return set(self.memory.children)

    def kept(self, name: str) -> int:
        return sum(path.stat().st_size for path in (self.directory / name).iterdir())

    def close(self) -> None:
        for one in self._children:
            one.output.close()
        self.memory.close()
        self.loop.close()


@pytest.fixture
def shelves(own_directory: Path) -> Iterator[Shelves]:
    """An empty memory."""
    found = Shelves(own_directory)
    yield found
    found.close()


def test_the_output_of_a_team_is_bounded_and_what_is_over_goes_first(shelves: Shelves) -> None:
    for number in range(2):
        shelves.over(f"over-{number}", 200_000, float(number))
    small, large = shelves.child("small"), shelves.child("large")
    shelves.write(small, 200_000)
    shelves.write(large, 400_000)
    assert len(shelves.left) == 4
    shelves.write(large, 200_000)  # more than a MiB in all: the longest ended goes
    assert shelves.left == {"over-1", "small", "large"}
    shelves.write(large, 4_000_000)
    assert shelves.left == {"small", "large"}
    assert shelves.kept("small") == 200_000
    page = segments.read(str(shelves.directory / "large"), 0, 8 * _MIB)
    assert page.next == 4_600_000
    assert page.gap_at == 1000
    # The part that is just being written, a quarter of the tail, is not given up.
    assert len(page.data) <= 2 * _MIB + 1000


def test_what_wrote_nothing_does_not_go_for_want_of_room(shelves: Shelves) -> None:
    shelves.over("silent", 0, 1.0)
    shelves.over("over", 100_000, 2.0)
    shelves.write(shelves.child("large"), 1_200_000)
    assert shelves.left == {"silent", "large"}


def test_what_has_just_ended_goes_last(shelves: Shelves) -> None:
    shelves.over("over", 100_000, 1.0)
    shelves.over("fresh", 100_000, 2.0, fresh=True)
    large = shelves.child("large", keep_tail=_MIB)
    shelves.write(large, 1_000_000)
    assert shelves.left == {"fresh", "large"}
    assert shelves.kept("large") < 1_000_000
    shelves.write(shelves.child("huge"), 1_500_000)  # and all of that is just being written
    assert shelves.left == {"large", "huge"}


def test_a_smaller_disk_holds_as_soon_as_it_is_said(shelves: Shelves) -> None:
    for number in range(4):
        shelves.over(f"over-{number}", 500_000, float(number), keep_disk=8 * _MIB)
    assert len(shelves.left) == 4
    shelves.child("next", keep_disk=_MIB)
    assert shelves.left == {"over-2", "over-3", "next"}


def test_fewer_records_hold_as_soon_as_it_is_said(shelves: Shelves) -> None:
    for number in range(6):
        shelves.over(f"over-{number}", 0, float(number))
    shelves.over("run-1", 0, 0.0, keep_records=None, keep_disk=None)
    shelves.child("next", keep_records=2)
    assert shelves.left == {"over-4", "over-5", "run-1", "next"}


def test_the_output_of_agents_is_no_output_of_commands(shelves: Shelves) -> None:
    run = shelves.child("run-1", keep_head=0, keep_tail=16 * _MIB, keep_records=None, keep_disk=None)
    shelves.over("over", 500_000, 1.0)
    shelves.write(run, 10_000_000)
    assert shelves.left == {"over", "run-1"}
    shelves.write(shelves.child("large"), 1_000_000)
    assert shelves.left == {"large", "run-1"}
    assert shelves.kept("run-1") == 10_000_000
