"""The leak check finds what a test forgets, names it, and leaves everybody else alone."""

import os
import subprocess
import threading
from pathlib import Path

from tests.support import processes
from tests.support.leaks import LeakCheck
from tests.support.waiting import wait_for

#: A check that waits for nothing: what these tests forget is forgotten on purpose.
AT_ONCE = 0.0


def test_nothing_is_left_when_nothing_was_forgotten(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    subprocess.run(["true"], check=True)
    with open(own_directory / "file", "w"):
        pass
    assert check.leaks() == []


def test_a_forgotten_child_is_named_and_ended(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    with subprocess.Popen(["sleep", "300"]) as sleep:
        (leak,) = check.leaks(AT_ONCE)
        assert leak == f"pid {sleep.pid} (sleep): sleep 300"
        check.end_processes()
        assert sleep.wait() == -9


def test_a_forgotten_orphan_is_found_by_its_environment(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    told = subprocess.run(["sh", "-c", "setsid sleep 301 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True)
    pid = int(told.stdout)
    (leak,) = check.leaks(AT_ONCE)
    assert leak.startswith(f"pid {pid} ")
    check.end_processes()
    assert check.leaks() == []


def test_an_orphan_without_our_environment_is_found_by_where_it_stands_but_not_ended(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    told = subprocess.run(
        ["sh", "-c", "setsid sleep 302 >/dev/null 2>&1 & echo $!"],
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
        cwd=own_directory,
    )
    orphan = processes.process(int(told.stdout))
    assert orphan
    try:
        assert [leak.split()[1] for leak in check.leaks(AT_ONCE)] == [str(orphan.pid)]
        check.end_processes()
        assert processes.process(orphan.pid)
    finally:
        processes.kill(orphan)


def test_a_child_that_nobody_waited_for_is_named(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    pid = os.posix_spawnp("true", ["true"], os.environ)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert check.leaks(AT_ONCE) == [f"pid {pid} (true, zombie): "]
    os.waitpid(pid, 0)


def test_a_process_that_only_looks_like_ours_is_not_ours(own_directory: Path) -> None:
    with subprocess.Popen(["sleep", "303"], env={"PATH": os.environ["PATH"], "X": f"{own_directory}-other"}) as sleep:
        # In the middle of an exec a process shows no environment at all.
        wait_for(lambda: processes.carries(sleep.pid, f"{own_directory}-other"), what="it shows its environment")
        assert not processes.carries(sleep.pid, str(own_directory))
        sleep.kill()


def test_a_process_that_is_about_to_end_gets_a_moment(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    subprocess.run(["sh", "-c", "setsid sleep 0.2 >/dev/null &"], check=True)
    assert check.leaks() == []


def test_a_forgotten_descriptor_is_named(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    fd = os.open(own_directory, os.O_RDONLY)
    assert check.leaks() == [f"descriptor {fd} of the test process: {own_directory}"]
    os.close(fd)


def test_a_forgotten_thread_is_named(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="forgotten")
    thread.start()
    assert check.leaks(AT_ONCE) == ["thread forgotten"]
    end.set()
    thread.join()
    assert check.leaks() == []
