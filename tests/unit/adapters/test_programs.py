"""Which process is the agent's program: the child of the shell that runs its launch file, once it has one."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corral.adapters.procfs import programs
from corral.ports.runtime import Session
from tests.support import processes


@contextmanager
def _shell_at_a_gate(own_directory: Path) -> Iterator[tuple[Session, Path]]:
    """A shell that has a program only once something is written to the pipe."""
    pipe = own_directory / "gate"
    os.mkfifo(pipe)
    with subprocess.Popen(["/bin/sh", "-c", f"read -r _ <{pipe}; cat; :"], stdin=subprocess.PIPE) as shell:
        try:
            yield Session(agent="a", run="r", terminal_pid=shell.pid, pid=shell.pid), pipe
        finally:
            for pid in processes.descendants(shell.pid, processes.snapshot()):
                found = processes.process(pid)
                assert found is not None
                processes.kill(found)
            shell.kill()


def test_a_program_is_waited_for_however_long_a_busy_machine_takes_to_get_there(own_directory: Path) -> None:
    async def story(session: Session, pipe: Path) -> None:
        waiting = asyncio.ensure_future(programs.await_programs([session]))
        await asyncio.sleep(2 * programs._LOOK_SECONDS)
        assert not waiting.done()
        pipe.write_text("\n")
        await waiting

    with _shell_at_a_gate(own_directory) as (session, pipe):
        asyncio.run(story(session, pipe))
        assert session.pid != session.terminal_pid
        assert processes.child_of(session.terminal_pid) == session.pid


def test_one_that_may_stand_at_its_gate_is_looked_at_and_not_waited_for(own_directory: Path) -> None:
    with _shell_at_a_gate(own_directory) as (session, pipe):
        asyncio.run(programs.look_for_programs([session]))
        assert session.pid == session.terminal_pid
        pipe.write_text("\n")


@pytest.mark.parametrize("wait", [programs.await_programs, programs.look_for_programs])
def test_nobody_waits_for_the_program_of_a_shell_that_is_gone(own_directory: Path, wait: object) -> None:
    with _shell_at_a_gate(own_directory) as (session, pipe):
        pipe.write_text("\n")
    assert callable(wait)
    asyncio.run(asyncio.wait_for(wait([session]), 2))
    assert session.pid == session.terminal_pid
