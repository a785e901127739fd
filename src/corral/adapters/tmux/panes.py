"""A pane as tmux's formats describe it."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from corral.ports.keeper import ExitStatus
from corral.ports.runtime import Session

#: One line a pane. The launch file's path is the one thing about a pane that nobody can rename.
FORMAT = "\t".join(
    [
        "#{pane_id}", "#{window_id}", "#{session_id}", "#{pane_pid}", "#{pane_dead}", "#{pane_dead_status}",
        "#{pane_dead_signal}", "#{pane_start_command}",
    ]
)  # fmt: skip

_LAUNCH_FILE = re.compile(r"/([a-z0-9-]+)\.([0-9a-f]{12})\b")


@dataclass(slots=True)
class Pane:
    """A pane of ours, with the ids that stay the same whatever is renamed or moved."""

    pane_id: str
    window_id: str
    session_id: str
    #: tmux read the end of its terminal. How the process ended it may learn a moment later, or not by itself.
    closed: bool
    session: Session


def parse_pane(line: str) -> Pane | None:
    """Read a line of FORMAT; None for a pane that no launch file started (the hub's own, a person's)."""
    fields = line.split("\t", 7)
    if len(fields) != 8:
        return None
    match = _LAUNCH_FILE.search(fields[7])
    if match is None:
        return None
    status = _exit_status(fields[5], fields[6])
    return Pane(
        pane_id=fields[0],
        window_id=fields[1],
        session_id=fields[2],
        closed=fields[4] == "1",
        session=Session(
            agent=match[1],
            run=match[2],
            terminal_pid=int(fields[3]),
            pid=int(fields[3]),
            dead=fields[4] == "1" and status is not None,
            exit=status,
        ),
    )


def _exit_status(status: str, number: str) -> ExitStatus | None:
    if number:
        return ExitStatus(signal=_signal_number(number))
    if not status:
        return None
    # The launch file's shell says what became of the program as shells do: 128 and the signal's number.
    code = int(status)
    return ExitStatus(signal=code - 128) if 128 < code <= 128 + signal.SIGRTMAX else ExitStatus(code=code)


def _signal_number(text: str) -> int | None:
    """tmux gives the number (3.3) or, from some builds, the name without SIG."""
    if text.isdigit():
        return int(text)
    try:
        return int(signal.Signals[f"SIG{text.upper()}"])
    except KeyError:
        return None
