"""Ending cgroups: whatever is in them, afterwards nothing runs in them, and nothing else was touched."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from corral.adapters.cgroup import ending, killing
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.ending import Ending
from tests.integration.test_cgroup_tree import FORKS
from tests.support.cgroups import Subtree, in_state_d, subtree
from tests.support.waiting import wait_for

STUBBORN = "trap '' TERM HUP INT; echo ready; while :; do sleep 1000; done"

#: What agents leave behind, each a command that returns at once.
HABITS = {
    "plain": "sleep 1000 &",
    "setsid": "setsid sleep 1000 &",
    "nohup": "nohup sleep 1000 >/dev/null 2>&1 &",
    "double fork": "(setsid sh -c 'sleep 1000 & exit' &)",
    "no environment": "(env -i setsid sleep 1000 &)",
    "stubborn": "(trap '' TERM HUP INT; setsid sh -c 'while :; do sleep 1000; done' &)",
    "stopped": "(sh -c 'kill -STOP $$' &)",
    "stubborn and stopped": "(sh -c 'trap \"\" TERM HUP; kill -STOP $$; sleep 1000' &)",
    "restarts": '(sh -c \'trap "" TERM HUP; while :; do sh -c "sleep 1000"; done\' &)',
    "answers by forking": "(sh -c 'trap \"sleep 1000 & sleep 1000 &\" TERM HUP; while :; do sleep 0.05; done' &)",
}


@pytest.fixture
def own() -> Iterator[Subtree]:
    with subtree() as mine:
        yield mine


def end(*groups: Cgroup, grace: float) -> Ending:
    return asyncio.run(ending.end(groups, grace))


def assert_empty(*groups: Cgroup) -> None:
    for group in groups:
        assert group.pids() == []
        assert not group.populated()


def sleeps(group: Cgroup) -> None:
    """Wait until a shell has started its `sleep`: before, it could lose a signal in between."""
    wait_for(lambda: any(process.name == "sleep" for _, process in ending.members([group])), what="it sleeps")


def _is_zombie(pid: int) -> bool:
    process = proc.read(pid)
    return process is not None and process.state == "Z"


def test_those_that_listen_are_only_asked(own: Subtree) -> None:
    process = own.start(own.make("a"), "sleep 1000 & sleep 1000 & echo ready; wait")
    outcome = end(own.top, grace=30)
    assert (outcome.killed, outcome.left) == (0, [])
    assert process.wait() in (-signal.SIGTERM, -signal.SIGHUP)
    assert_empty(own.top)


def test_one_that_does_not_listen_is_killed_after_the_grace(own: Subtree) -> None:
    process = own.start(own.make("a"), STUBBORN)
    sleeps(own.top)
    outcome = end(own.top, grace=0.2)
    assert outcome.killed == 2
    assert outcome.left == []
    assert process.wait() == -signal.SIGKILL


def test_without_grace_all_are_killed_at_once(own: Subtree) -> None:
    process = own.start(own.make("a"), "trap 'exit 7' TERM; sleep 1000 & echo ready; wait")
    sleeps(own.top)
    assert end(own.top, grace=0).killed == 2
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("habit", HABITS)
def test_each_habit_is_ended(own: Subtree, habit: str) -> None:
    own.start(own.make("a"), f"{HABITS[habit]}\necho ready; wait")
    assert end(own.top, grace=0.3).left == []
    assert_empty(own.top)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_mixed_nothing_runs_afterwards(own: Subtree, seed: int) -> None:
    chance = random.Random(seed)
    groups = [own.make(name) for name in ("a", "a/b", "c", "d/e/f")]
    for group in groups:
        script = "\n".join(HABITS[chance.choice(list(HABITS))] for _ in range(chance.randint(1, 12)))
        own.start(group, f"{script}\necho ready; wait")
    for group in groups:
        if chance.random() < 0.3:
            assert asyncio.run(killing.freeze(group, 10))
    outcome = end(*(own.top.child(name) for name in ("a", "c", "d")), grace=chance.choice([0, 0.1, 0.5]))
    assert outcome.left == []
    assert_empty(own.top)
    assert all(own.top.child(name).remove() for name in ("a", "c", "d"))


def test_what_forks_as_fast_as_it_is_killed_loses(own: Subtree) -> None:
    own.start(own.make("a"), FORKS)
    assert end(own.top, grace=0.1).left == []
    assert_empty(own.top)


def test_what_forks_loses_without_the_kernels_help_too(own: Subtree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(killing, "kill", killing.kill_frozen)
    own.start(own.make("a"), FORKS)
    assert end(own.top, grace=0.1).left == []
    assert_empty(own.top)


def test_a_frozen_one_gets_its_grace_and_may_say_goodbye(own: Subtree) -> None:
    group = own.make("a")
    process = own.start(group, "trap 'exit 7' TERM HUP; echo ready; while :; do sleep 0.01; done")
    assert asyncio.run(killing.freeze(group, 10))
    assert end(own.top, grace=30).killed == 0
    assert process.wait() == 7


def test_one_that_freezes_itself_below_is_ended(own: Subtree) -> None:
    lower = own.make("a/b")
    own.start(lower, STUBBORN)
    assert asyncio.run(killing.freeze(lower, 10))
    assert end(own.top.child("a"), grace=0.2).left == []
    assert own.top.child("a").remove()


def test_a_stopped_one_is_woken_to_end(own: Subtree) -> None:
    process = own.start(own.make("a"), "trap 'exit 7' TERM HUP; echo ready; while :; do sleep 0.01; done")
    os.kill(process.pid, signal.SIGSTOP)
    assert end(own.top, grace=30).killed == 0
    assert process.wait() == 7


def test_a_zombie_whose_parent_does_not_reap_is_not_left(own: Subtree) -> None:
    group = own.make("a")
    # Its parent is this test, which is outside and does not look until the end.
    child = own.start(group, "echo ready; exec sleep 1000")
    program = 'import os, time; os.fork() or os._exit(0); print("ready", flush=True); time.sleep(1000)'
    parent = own.start(group, f"exec {sys.executable} -S -c '{program}'")
    wait_for(lambda: any(_is_zombie(pid) for pid in proc.children(parent.pid)), what="a zombie")
    outcome = end(own.top, grace=30)
    assert (outcome.killed, outcome.left) == (0, [])
    assert _is_zombie(child.pid)
    assert group.remove()


def test_a_process_whose_first_thread_ended_is_ended(own: Subtree) -> None:
    script = f"""exec {sys.executable} -S -c '
import ctypes, signal, threading, time
for number in (signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
threading.Thread(target=time.sleep, args=(1000,)).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60, 0)
'"""
    if os.uname().machine != "x86_64":
        pytest.skip("the number of the system call is that of x86-64")
    process = own.start(own.make("a"), script)
    wait_for(lambda: _is_zombie(process.pid), what="its first thread ends")
    assert own.top.pids() == [process.pid]
    assert end(own.top, grace=0.2).left == []
    assert_empty(own.top)


def test_what_ends_last_is_not_asked_while_others_run(own: Subtree) -> None:
    # The shell would say so if it was asked; the program takes its time and ends.
    shell = own.start(
        own.make("a"),
        "trap 'exit 7' TERM HUP; sh -c 'trap \"\" HUP; trap \"sleep 0.2; exit 0\" TERM; echo ready; sleep 1000 & wait'",
    )
    sleeps(own.top)
    outcome = asyncio.run(ending.end([own.top], 30, lambda process: process.pid == shell.pid))
    assert (outcome.killed, outcome.left) == (0, [])
    assert shell.wait() == 0


def test_what_ends_last_and_stays_is_ended_all_the_same(own: Subtree) -> None:
    shell = own.start(own.make("a"), STUBBORN)
    outcome = asyncio.run(ending.end([own.top], 1.5, lambda process: process.pid == shell.pid))
    assert outcome.left == []
    assert shell.wait() == -signal.SIGKILL


def test_a_process_that_moved_out_is_left_alone(own: Subtree) -> None:
    group, elsewhere = own.make("a"), own.make("elsewhere")
    own.start(group, STUBBORN)
    mover = own.start(group, f"echo $$ >{elsewhere.path}/cgroup.procs; echo ready; exec sleep 1000")
    assert end(group, grace=0.2).left == []
    assert mover.poll() is None


def test_a_process_that_is_moved_in_meanwhile_is_ended_too(own: Subtree) -> None:
    group = own.make("a")
    own.start(group, STUBBORN)
    late = own.start(own.make("elsewhere"), STUBBORN)

    async def scenario() -> Ending:
        ended = asyncio.ensure_future(ending.end([group], 0.5))
        await asyncio.sleep(0)
        group.admit(late.pid)
        return await ended

    assert asyncio.run(scenario()).left == []
    assert late.wait() == -signal.SIGKILL


def test_the_one_who_ends_is_spared(own: Subtree) -> None:
    group = own.make("a")
    own.start(group, STUBBORN)
    sleeps(group)
    script = f"""
import asyncio, os, sys
from corral.adapters.cgroup import ending
from corral.adapters.cgroup.tree import Cgroup
group = Cgroup(name={group.name!r}, path={group.path!r})
group.admit(os.getpid())
outcome = asyncio.run(ending.end([group], 0.2))
print(outcome.killed, len(outcome.left), group.pids() == [os.getpid()])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("2 0 True\n", "")


def test_two_who_end_the_same_do_not_disturb_each_other(own: Subtree) -> None:
    group = own.make("a")
    own.start(group, f"{HABITS['stubborn']}\n{HABITS['no environment']}\necho ready; wait")

    async def both() -> list[Ending]:
        return list(await asyncio.gather(ending.end([group], 0.2), ending.end([group], 0.3)))

    assert [outcome.left for outcome in asyncio.run(both())] == [[], []]
    assert_empty(group)


def test_one_that_is_removed_meanwhile_is_ended(own: Subtree) -> None:
    group = own.make("a")
    process = own.start(group, STUBBORN)

    async def scenario() -> Ending:
        ended = asyncio.ensure_future(ending.end([group], 30))
        await asyncio.sleep(0)
        await killing.kill(group)
        wait_for(group.remove)
        return await ended

    assert asyncio.run(scenario()).left == []
    assert process.wait() == -signal.SIGKILL


def test_cgroups_that_were_never_made_are_ended_at_once(own: Subtree) -> None:
    assert end(own.top.child("no"), grace=30).left == []


@pytest.mark.slow
def test_a_thousand_in_a_hundred_cgroups_under_load(own: Subtree) -> None:
    groups = [own.make(f"agent-{number}") for number in range(100)]
    third = "(trap '' TERM HUP; while :; do sleep 1000; done) &"
    script = f"for i in 1 2 3; do {third} setsid sleep 1000 & sleep 1000 & done; echo ready; wait"
    for group in groups:
        own.start(group, script)
    busy = own.start(own.make("busy"), "while :; do :; done & while :; do :; done & echo ready; wait")
    outcome = end(*groups, grace=0.5)
    assert outcome.left == []
    assert outcome.killed >= 300
    assert_empty(*groups)
    assert all(group.remove() for group in groups)
    assert busy.poll() is None


def test_what_cannot_die_is_named_in_bounded_time(own: Subtree) -> None:
    group = own.make("a")
    stuck = own.start(group, "echo ready; exec sleep 1000")
    other = own.start(group, STUBBORN)
    with in_state_d(stuck.pid):
        began = time.monotonic()
        outcome = end(own.top, grace=0.1)
        assert time.monotonic() - began < 8
        assert [(process.pid, process.state) for process in outcome.left] == [(stuck.pid, "D")]
        assert other.wait() == -signal.SIGKILL
        assert group.remove() is False
