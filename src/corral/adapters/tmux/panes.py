"""A pane as tmux's formats describe it."""

from __future__ import annotations

import asyncio
import re
import signal
from dataclasses import dataclass, field

from corral.adapters.procfs.programs import exit_status
from corral.domain.last_question import CallDetector
from corral.ports.runs import ExitStatus
from corral.ports.runtime import Session

#: One line a pane. The launch file's path is the one thing about a pane that nobody can rename.
FORMAT = "\t".join(
    [
        "#{pane_id}", "#{window_id}", "#{session_id}", "#{pane_pid}", "#{pane_dead}", "#{pane_dead_status}",
        "#{pane_dead_signal}", "#{session_name}", "#{pane_start_command}",
    ]
)  # fmt: skip

#: What a new pane has that nobody knows yet. Short: tmux fills it in for each, while everybody waits.
NEW_FORMAT = "#{pane_id} #{window_id} #{session_id} #{pane_pid}"

_LAUNCH_FILE = re.compile(r"/([a-z0-9-]+)\.([0-9a-f]{12})\b")


@dataclass(slots=True)
class Pane:
    """A pane of ours, with the ids that stay the same whatever is renamed or moved."""

    pane_id: str
    window_id: str
    #: Where people find it; empty while only the hub shows it.
    session_id: str
    #: tmux read the end of its terminal. How the process ended it may learn a moment later, or not by itself.
    closed: bool
    session: Session
    #: Held by whoever types: one message at a time.
    typing: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: Whether its launch shell asks if everything was heard.
    calls: CallDetector = field(default_factory=CallDetector)


def parse_pane(line: str) -> Pane | None:
    """Read a line of FORMAT; None for a pane that no launch file started (the hub's own, a person's)."""
    fields = line.split("\t", 8)
    if len(fields) != 9:
        return None
    match = _LAUNCH_FILE.search(fields[8])
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


def new_pane(line: str, agent: str, run: str) -> Pane | None:
    """Read NEW_FORMAT, of the pane that was just made for a run; None if it cannot be read."""
    fields = line.split(" ")
    if len(fields) != 4 or not fields[3].isdecimal():
        return None
    pid = int(fields[3])
    session = Session(agent=agent, run=run, terminal_pid=pid, pid=pid, dead=False, exit=None)
    return Pane(pane_id=fields[0], window_id=fields[1], session_id=fields[2], closed=False, session=session)


@dataclass(frozen=True, slots=True)
class Census:
    """All panes of a server, sorted."""

    #: Panes that launch files started, by run.
    panes: dict[str, Pane]
    #: By session, the processes of panes that people or agents opened beside.
    guests: dict[str, list[int]]
    #: Windows of ours that the hub does not show.
    unlinked: list[str]

    @property
    def homeless(self) -> list[Pane]:
        """Panes whose session somebody killed: the hub's link is all that keeps them."""
        return [pane for pane in self.panes.values() if not pane.session_id]


def take_census(lines: list[str], hub: str) -> Census:
    """Read what `list-panes -a` says. A window of ours is listed twice: in its own session, and in the hub."""
    panes: dict[str, Pane] = {}
    guests: dict[str, list[int]] = {}
    linked = set()
    for line in lines:
        fields = line.split("\t", 8)
        pane = parse_pane(line)
        if len(fields) == 9 and fields[7] == hub:
            linked.add(fields[1])
            if pane is not None and pane.session.run not in panes:
                pane.session_id = ""  # the hub is nobody's home, and must not be taken away with an agent
                panes[pane.session.run] = pane
        elif pane is not None:
            # A person may show it in other sessions too.
            known = panes.get(pane.session.run)
            if known is None or not known.session_id or fields[7] == pane.session.agent:
                panes[pane.session.run] = pane
        elif len(fields) == 9:
            guests.setdefault(fields[2], []).append(int(fields[3]))
    unlinked = [pane.window_id for pane in panes.values() if pane.window_id not in linked]
    return Census(panes, guests, unlinked)


def _exit_status(status: str, number: str) -> ExitStatus | None:
    if number:
        return ExitStatus(signal=_signal_number(number))
    return exit_status(int(status)) if status else None


def _signal_number(text: str) -> int | None:
    """tmux gives the number (3.3) or, from some builds, the name without SIG."""
    if text.isdigit():
        return int(text)
    try:
        return int(signal.Signals[f"SIG{text.upper()}"])
    except KeyError:
        return None
