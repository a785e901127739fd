"""Cgroups as the kernel keeps them: what is in one, waiting for it, freezing it, killing all of it."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from corral.adapters.cgroup import events, killing
from corral.adapters.cgroup.tree import Cgroup
from tests.support.cgroups import Subtree, subtree
from tests.support.waiting import wait_for

#: Thirty-two processes that ignore what they are asked and replace themselves as fast as they can, for 20 s at most.
FORKS = f"""exec {sys.executable} -S -c '
import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
end = time.monotonic() + 20
for _ in range(5): os.fork()
if os.getpid() == os.getsid(0): print("ready", flush=True)
while time.monotonic() < end:
    if os.fork(): os._exit(0)
'"""


@pytest.fixture
def own() -> Iterator[Subtree]:
    with subtree() as mine:
        yield mine


def test_what_is_in_nested_cgroups_counts(own: Subtree) -> None:
    upper, lower = own.make("a"), own.make("a/b/c")
    first = own.start(upper, "echo ready; exec sleep 1000")
    second = own.start(lower, "echo ready; exec sleep 1000")
    assert sorted(own.top.pids()) == sorted([first.pid, second.pid])
    assert lower.pids() == [second.pid]
    assert upper.holds(second.pid)
    assert not lower.holds(first.pid)
    assert own.given.hierarchy.of_process(second.pid) == lower
    assert own.top.populated()


def test_hundreds_of_processes_are_all_listed(own: Subtree) -> None:
    own.start(own.top, "for i in $(seq 1500); do sleep 1000 & done; echo ready; wait")
    # Longer than a page of the kernel's: the list has to be read to its end.
    assert len(own.top.pids()) == 1501


def test_a_name_that_only_begins_alike_is_another_cgroup(own: Subtree) -> None:
    process = own.start(own.make("agent-2"), "echo ready; exec sleep 1000")
    assert not own.top.child("agent").holds(process.pid)


def test_one_that_is_gone_is_empty_and_removed(own: Subtree) -> None:
    gone = own.make("a")
    assert gone.remove()
    assert (gone.exists(), gone.pids(), gone.populated(), gone.children()) == (False, [], False, [])
    assert gone.remove()
    assert asyncio.run(events.wait_empty([gone], 10))


def test_one_with_a_process_is_not_removed(own: Subtree) -> None:
    own.start(own.make("a/b"), "echo ready; exec sleep 1000")
    assert own.top.child("a").remove() is False
    assert own.top.child("a").populated()


def test_a_whole_empty_tree_is_removed(own: Subtree) -> None:
    own.make("a/b/c")
    own.make("a/d")
    assert own.top.child("a").remove()
    assert own.top.children() == []


def test_waiting_ends_when_the_last_process_does(own: Subtree) -> None:
    groups = [own.make(f"g{number}") for number in range(70)]
    process = own.start(groups[66], "echo ready; exec sleep 1000")

    async def wait() -> bool:
        waiting = asyncio.ensure_future(events.wait_empty(groups, 30))
        assert not (await asyncio.wait([waiting], timeout=0.05))[0]
        process.kill()
        return await waiting

    began = time.monotonic()
    assert asyncio.run(wait())
    assert time.monotonic() - began < 10


def test_waiting_for_one_that_stays_is_bounded(own: Subtree) -> None:
    own.start(own.top, "echo ready; exec sleep 1000")
    assert asyncio.run(events.wait_empty([own.top], 0.05)) is False


def test_waiting_ends_when_somebody_else_removes_it(own: Subtree) -> None:
    group = own.make("a")
    process = own.start(group, "echo ready; exec sleep 1000")

    async def wait() -> bool:
        waiting = asyncio.ensure_future(events.wait_empty([group], 30))
        await asyncio.sleep(0)
        process.kill()
        wait_for(group.remove)
        return await waiting

    assert asyncio.run(wait())


def test_nothing_is_done_while_waiting(own: Subtree) -> None:
    own.start(own.top, "echo ready; exec sleep 1000")

    async def wait() -> float:
        before = time.process_time()
        await events.wait_empty([own.top], 1.0)
        return time.process_time() - before

    assert asyncio.run(wait()) < 0.2


def test_what_is_frozen_stands_still_until_it_is_thawed(own: Subtree) -> None:
    process = own.start(own.make("a"), "trap 'exit 7' USR1; echo ready; while :; do sleep 0.01; done")
    assert asyncio.run(killing.freeze(own.top, 10))
    assert own.top.frozen()
    os.kill(process.pid, signal.SIGUSR1)
    # It has a handler for it, which does not run: whatever else it may do, it does not end.
    assert asyncio.run(events.wait_empty([own.top], 0.2)) is False
    killing.thaw(own.top)
    assert asyncio.run(events.wait_empty([own.top], 10))
    assert process.wait() == 7


def test_thawing_reaches_what_was_frozen_below(own: Subtree) -> None:
    lower = own.make("a/b")
    own.start(lower, "echo ready; exec sleep 1000")
    assert asyncio.run(killing.freeze(lower, 10))
    killing.thaw(own.top)
    assert asyncio.run(events.wait_frozen([lower], False, 10))


@pytest.mark.parametrize("kill", ["kill", "kill_frozen"])
@pytest.mark.parametrize("frozen", [False, True])
def test_killing_reaches_all(own: Subtree, kill: str, frozen: bool) -> None:
    own.start(own.make("a/b"), "trap '' TERM HUP; setsid sleep 1000 & sleep 1000 & echo ready; wait")
    own.start(own.make("c"), "(env -i sleep 1000 &) ; nohup sleep 1000 & echo ready; kill -STOP $$")

    async def scenario() -> bool:
        if frozen:
            await killing.freeze(own.top.child("a"), 10)
        await getattr(killing, kill)(own.top)
        return await events.wait_empty([own.top], 10)

    assert asyncio.run(scenario())
    assert own.top.pids() == []


@pytest.mark.parametrize("kill", ["kill", "kill_frozen"])
def test_what_forks_as_fast_as_it_can_is_killed_in_one_go(own: Subtree, kill: str) -> None:
    own.start(own.top, FORKS)

    async def scenario() -> bool:
        await getattr(killing, kill)(own.top)
        return await events.wait_empty([own.top], 10)

    assert asyncio.run(scenario())


def test_a_process_that_moved_away_is_not_signalled(own: Subtree) -> None:
    old, new = own.make("old"), own.make("new")
    process = own.start(old, "echo ready; exec sleep 1000")
    new.admit(process.pid)
    assert killing.signal_member(old, process.pid, signal.SIGKILL) is False
    assert process.poll() is None
    assert killing.signal_member(new, process.pid, signal.SIGKILL) is True


def test_the_cgroup_of_a_process_that_is_gone_is_none(own: Subtree) -> None:
    process = own.start(own.top, "echo ready; exit 0")
    process.wait()
    assert own.given.hierarchy.of_process(process.pid) is None
    assert killing.signal_member(own.top, process.pid, signal.SIGKILL) is False


def test_a_file_of_a_cgroup_that_is_not_there_reads_as_nothing(own: Subtree) -> None:
    assert own.top.read("no.such.file") is None
    assert Cgroup(name="/nowhere", path="/nowhere").words("cgroup.controllers") == frozenset()


@pytest.mark.slow
def test_cgroups_nested_deeper_than_python_goes_are_seen_ended_and_removed(own: Subtree) -> None:
    deepest = own.make("/".join(["d"] * (sys.getrecursionlimit() + 200)))
    process = own.start(deepest, "echo ready; exec sleep 1000")
    assert own.top.pids() == [process.pid]
    asyncio.run(killing.kill(own.top))
    process.wait(10)
    assert own.top.child("d").remove()
    assert not own.top.child("d").exists()
