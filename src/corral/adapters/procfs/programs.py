"""The program of a session: the one child of the shell that runs its launch file."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence

from corral.adapters.procfs import processes as proc
from corral.ports.runs import ExitStatus
from corral.ports.runtime import Session

#: How long a shell that was let go may take to get to the program: a machine may be very busy. Past that its own
#: process is shown until somebody looks again.
_PATIENCE_SECONDS = 5.0
#: The same for shells of which nobody knows whether they were: they may wait at their gates.
_LOOK_SECONDS = 0.3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.05


async def await_programs(sessions: Sequence[Session]) -> None:
    """Set the `pid` of every session of a shell that is on its way to its program, as soon as it gets there."""
    await _find_programs(sessions, _PATIENCE_SECONDS)


async def look_for_programs(sessions: Sequence[Session]) -> None:
    """Set the `pid` of every living session whose program is not known yet, if there is one by now."""
    await _find_programs(sessions, _LOOK_SECONDS)


async def _find_programs(sessions: Sequence[Session], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    pause = _FIRST_PAUSE
    unknown = [session for session in sessions if not session.dead and session.pid == session.terminal_pid]
    while unknown:
        for session in unknown:
            children = proc.children(session.terminal_pid)
            if children:
                session.pid = children[0]
        unknown = [
            session
            for session in unknown
            if session.pid == session.terminal_pid and proc.read(session.terminal_pid) is not None
        ]
        if not unknown or loop.time() > deadline:
            return
        await asyncio.sleep(pause)
        pause = min(pause * 1.2, _LONGEST_PAUSE)


def exit_status(code: int) -> ExitStatus:
    """How the program ended, by the exit code of its shell, which says it as shells do: 128 and a signal's number."""
    return ExitStatus(signal=code - 128) if 128 < code <= 128 + signal.SIGRTMAX else ExitStatus(code=code)
