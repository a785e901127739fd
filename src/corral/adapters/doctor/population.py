"""Who is there: one look at `/proc`, and the environments of those processes that can matter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process
from corral.adapters.tmux import identity
from corral.domain.diagnosis_facts import Marked, Marks, Terminal
from corral.domain.environment import RUN_VARIABLE

TMUX_SERVER = "tmux: server"
_MARK = b"CORRAL_INSTANCE="
_KERNEL_THREADS = 2
#: What runs in the hidden session of every server of ours; the second is that of servers from before.
_HUB = ([word.encode() for word in identity.NOTHING], [b"cat"])
_VARIABLES = {
    "instance": b"CORRAL_INSTANCE",
    "team": b"CORRAL_TEAM",
    "agent": b"CORRAL_AGENT",
    "run": RUN_VARIABLE.encode(),
    "home": b"CORRAL_HOME",
}


@dataclass(frozen=True, slots=True)
class Population:
    """The processes of one look."""

    everyone: list[Process]
    #: Of the processes that carry a marker.
    marks: dict[int, Marks]

    def servers(self) -> list[Process]:
        """The tmux servers, anybody's."""
        return [process for process in self.everyone if process.name == TMUX_SERVER]

    def children(self, pid: int) -> list[Process]:
        return [process for process in self.everyone if process.parent == pid]

    def marked(self, wanted: Callable[[Marks], bool]) -> list[Marked]:
        """The processes of agents that still run and whose marks are wanted; the others are not looked at again."""
        return [
            Marked(
                pid=process.pid,
                start=process.start,
                command=proc.command_line(process.pid),
                marks=self.marks[process.pid],
            )
            for process in self.everyone
            if process.pid in self.marks and wanted(self.marks[process.pid]) and proc.is_alive(process)
        ]


def look(uid: int | None = None) -> Population:
    """Everybody, and the marks of those that run as a user, else this one, and of the tmux servers that can be read."""
    everyone = proc.every_process()
    user = os.getuid() if uid is None else uid
    marks = {}
    for process in everyone:
        if _KERNEL_THREADS in (process.pid, process.parent) or process.pid == os.getpid():
            continue
        if process.name == TMUX_SERVER or _user_of(process.pid) == user:
            variables = proc.environment(process.pid)
            if _MARK in variables:
                marks[process.pid] = marks_in(variables)
    return Population(everyone, marks)


def marks_in(variables: bytes) -> Marks:
    """The marks in an environment."""
    found = dict(entry.partition(b"=")[::2] for entry in variables.split(b"\0") if entry.startswith(b"CORRAL_"))
    return Marks(**{name: os.fsdecode(found.get(variable, b"")) for name, variable in _VARIABLES.items()})


def terminals(children: Iterable[Process], launch_dir: str) -> tuple[Terminal, ...]:
    """Those of a server's children that a launch file of ours started: its name has agent and run in it."""
    below = os.fsencode(launch_dir) + b"/"
    found = []
    for child in children:
        words = proc.argument_vector(child.pid)
        if len(words) == 2 and words[1].startswith(below):
            agent, dot, run = os.fsdecode(os.path.basename(words[1])).rpartition(".")
            if dot and proc.is_alive(child):
                found.append(Terminal(pid=child.pid, start=child.start, agent=agent, run=run))
    return tuple(found)


def plain_runs(people: Population, launch_dir: str) -> dict[str, frozenset[tuple[str, str, str]]]:
    """By instance: team, agent and run of those whose launch file runs under no tmux server."""
    of_tmux = {server.pid for server in people.servers()}
    found: dict[str, frozenset[tuple[str, str, str]]] = {}
    for one in people.everyone:
        if one.pid in people.marks and one.parent not in of_tmux:
            marks = people.marks[one.pid]
            runs = {(marks.team, shell.agent, shell.run) for shell in terminals([one], launch_dir)}
            found[marks.instance] = found.get(marks.instance, frozenset()) | runs
    return found


def guests(children: Iterable[Process], launch_dir: str) -> tuple[tuple[int, str], ...]:
    """The other terminals of a server of ours: pid and command. The one that keeps the hidden hub open is no guest."""
    below = os.fsencode(launch_dir) + b"/"
    found = []
    hub_seen = False
    for child in children:
        if child.pid != child.session or not _is_at_a_terminal(child.pid):
            continue  # an orphan that was handed to the server, and no pane
        words = proc.argument_vector(child.pid)
        if len(words) == 2 and words[1].startswith(below):
            continue
        if words in _HUB and not hub_seen:
            hub_seen = True
            continue
        found.append((child.pid, proc.command_line(child.pid)))
    return tuple(found)


def _is_at_a_terminal(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/fd/0").startswith("/dev/pts/")
    except OSError:
        return False


def run_of(pid: int, launch_dir: str) -> str:
    """The run that a process belongs to, or that it is the launch shell of; empty if neither can be told."""
    run = proc.marker_value(proc.environment(pid), RUN_VARIABLE.encode())
    if run:
        return run
    process = proc.read(pid)
    found = terminals([process], launch_dir) if process is not None else ()
    return found[0].run if found else ""


def _user_of(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1
