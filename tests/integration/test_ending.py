"""Ending processes by proof: everything of ours, and nothing else."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from corral.adapters.procfs import ending
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process
from tests.support.waiting import wait_for

#: Of this run alone: the tests may run beside themselves.
_VALUE = f"this-{os.getpid()}"
MARKER = f"CORRAL_TEST_ENDING={_VALUE}".encode()


def ours(everyone: list[Process]) -> list[Process]:
    return proc.marked(everyone, [MARKER])


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts shells with the marker; each says `ready` before it goes on."""
    started: list[subprocess.Popen[bytes]] = []

    def run(script: str, marked: bool = True) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **({"CORRAL_TEST_ENDING": _VALUE} if marked else {})}
        process = subprocess.Popen(
            ["sh", "-c", script], env=environment, stdout=subprocess.PIPE, start_new_session=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def end(grace: float) -> ending.Ending:
    return asyncio.run(ending.end(ours, grace))


def test_one_that_listens_is_only_asked(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start("echo ready; exec sleep 1000")
    outcome = end(10.0)
    assert (outcome.killed, outcome.left) == (0, [])
    assert process.wait() == -signal.SIGTERM


def test_one_that_does_not_listen_is_killed_after_the_grace(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start("trap '' TERM HUP; echo ready; while :; do sleep 1000; done")
    outcome = end(0.2)
    assert outcome.killed >= 1
    assert outcome.left == []
    assert process.wait() == -signal.SIGKILL


def test_what_left_for_another_session_is_found(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    start(
        "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000; sleep 1000' &) ; nohup sleep 1000 >/dev/null & echo ready; wait"
    )
    assert end(0.2).left == []
    assert ours(proc.every_process()) == []


def test_a_child_that_cleared_its_environment_is_known_by_its_parent(
    start: Callable[..., subprocess.Popen[bytes]],
) -> None:
    process = start("env -i sleep 1000 & echo ready; wait")
    child = wait_for(
        lambda: [p for p in proc.every_process() if p.parent == process.pid and p.name == "sleep"], what="the child"
    )[0]
    assert end(5.0).left == []
    assert not proc.is_alive(child)


def test_a_stopped_process_is_woken_to_end(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start("echo ready; exec sleep 1000")
    os.kill(process.pid, signal.SIGSTOP)
    assert end(5.0).killed == 0


def test_what_forks_as_fast_as_it_is_killed_loses(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    script = f"""exec {sys.executable} -c '
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN)
print("ready", flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    time.sleep(0.01)
    if os.fork(): os._exit(0)
'"""
    start(script)
    assert end(0.1).left == []
    assert ours(proc.every_process()) == []


def test_what_is_not_ours_is_left_alone(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    mine = start("echo ready; exec sleep 1000")
    others = start("echo ready; exec sleep 1000", marked=False)
    end(5.0)
    assert mine.poll() is not None
    assert others.poll() is None


def test_a_pid_that_changed_hands_is_not_signalled(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start("echo ready; exec sleep 1000", marked=False)
    now = proc.read(process.pid)
    assert now is not None
    earlier = Process(
        pid=now.pid, start=now.start - 1, parent=now.parent, session=now.session, state=now.state, name=now.name
    )
    assert proc.send_signal(earlier, signal.SIGKILL) is False
    assert process.poll() is None


def test_a_marker_counts_only_as_a_whole_variable(start: Callable[..., subprocess.Popen[bytes]]) -> None:
    process = start("echo ready; exec sleep 1000")
    running = proc.read(process.pid)
    assert running is not None
    assert proc.marked([running], [MARKER[:-1]]) == []
    assert proc.marked([running], [MARKER.removeprefix(b"CORRAL_")]) == []
    assert proc.marked([running], [MARKER]) == [running]
