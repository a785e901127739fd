"""What agents start through Corral: the processes of a team beside its terminals.

The records are the wire format between daemon and keeper as well. A process is named by an id that is never used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from corral.domain.bindings import ANY_PORT
from corral.domain.confinement import NO_CONFINES, Confines
from corral.domain.process_limits import DEFAULT_PROCESS_LIMITS
from corral.ports.record import Record
from corral.ports.runs import ExitStatus

#: The run of an agent without a terminal is a process too, called so and by its run. It is no command of the agent.
RUN_PREFIX = "run-"


class ProcessOrder(Record, frozen=True):
    """A command to start."""

    #: Its id, chosen by whoever orders it: an order that arrives twice starts one process.
    process: str
    agent: str
    #: What is executed. The first word is looked up in the PATH of `environment`.
    argv: list[str]
    #: The command as somebody wrote it, for people who read a list.
    command: str
    directory: str
    #: Joins what the agent has in its environment, and wins over it.
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    #: The run of the agent that it is started beside.
    run: str = ""
    #: Names of what the agent has in its environment because its team declares it.
    declared: list[str] = msgspec.field(default_factory=list)
    #: Which ports it may listen on (`bindings`), and what else it may touch, counted from the agent's workspace.
    bind: str = ANY_PORT
    confines: Confines = NO_CONFINES
    workspace: str = ""
    #: It can be written to. Otherwise its standard input is empty and at its end.
    stdin: bool = False
    #: It has a terminal of its own, and output and errors come through it.
    tty: bool = False
    columns: int = 120
    rows: int = 40
    #: Bytes of its output that are kept: the first of them and the last of them.
    keep_head: int = DEFAULT_PROCESS_LIMITS.head
    keep_tail: int = DEFAULT_PROCESS_LIMITS.tail
    #: How many commands of the agent may run at once, this one included.
    most_running: int = DEFAULT_PROCESS_LIMITS.running
    #: What is kept from now on: ended commands of each agent, and bytes of output of all commands of the team. None for
    #: what is no command: it does not count among them, and says nothing about them.
    keep_records: int | None = DEFAULT_PROCESS_LIMITS.records
    keep_disk: int | None = DEFAULT_PROCESS_LIMITS.disk


class Survivor(Record, frozen=True, omit_defaults=False):
    """A process that outlived the command that started it."""

    pid: int
    command: str


class Process(Record, frozen=True):
    """A process as the keeper sees it now."""

    process: str
    agent: str
    command: str
    started_at: float
    #: The command itself; what it started is not meant.
    running: bool
    #: The first process.
    pid: int
    #: How the command ended. None while it runs; with both fields empty, nobody saw how.
    exit: ExitStatus | None = None
    ended_at: float | None = None
    #: Nobody holds its output open any more: there will be no more of it.
    closed: bool = False
    #: Everything of it that runs, the first process included while it does.
    pids: list[int] = msgspec.field(default_factory=list)
    #: Position after the last byte of its output so far.
    end: int = 0
    tty: bool = False
    #: It can be written to; what has a terminal always can.
    stdin: bool = False
    #: What is wrong with its record: a full disk; empty when all is well.
    trouble: str = ""


class OutputPage(Record, frozen=True):
    """Output from a cursor on. A cursor is a position in everything that the process ever wrote."""

    data: bytes
    #: The cursor to go on from.
    next: int
    #: Bytes between the cursor that was asked for and `next` that were not kept.
    omitted: int = 0
    #: Where they were, as a position in `data`.
    gap_at: int = 0


class Execution(Record, frozen=True):
    """A process and some of its output, seen at the same time."""

    process: Process
    page: OutputPage
    #: What outlived the command; empty while the command itself runs.
    survivors: list[Survivor] = msgspec.field(default_factory=list)


class ProcessListener(Protocol):
    """Who wants to hear of what happens to processes; called in the event loop."""

    def ended(self, process: Process) -> None:
        """A command has ended."""

    def gone(self, agent: str, process: str) -> None:
        """What outlived a command has ended too. Told where that can be known, which is where commands have cgroups."""

    def recording_failed(self, agent: str, why: str) -> None:
        """Output of a process is not kept any more; the process goes on."""

    def host_lost(self, why: str) -> None:
        """The host is gone. Processes go on; how they end may stay unknown."""


class Processes(Protocol):
    """The processes of one team on one host. They go on when the keeper does not."""

    async def start(self, order: ProcessOrder, environment: dict[str, str], cgroup: str) -> Process:
        """Start a command with this whole environment, inside this cgroup (a directory; empty: nowhere in particular).

        Raises `NotFoundError` if there is no such program and `CorralError` if it cannot be started. Idempotent by id.
        """

    async def table(self) -> list[Process]:
        """Every process there is a record of, the oldest first. Starts nothing."""

    async def get(self, process: str) -> Process:
        """One of them, or `NotFoundError`."""

    def answered(self, process: str) -> None:
        """Somebody has all that there is of it: it may be forgotten before what nobody has seen to its end."""

    def read(self, process: str, after: int, limit: int) -> OutputPage:
        """Output from a cursor on, at most `limit` bytes of it. From the disk: nobody is disturbed by it.

        A page may go over one gap in what was kept, and ends before the next.
        """

    async def changed(self, process: str, after: int, *, late: bool = False) -> Process:
        """Return when it has output past `after`, when it has ended, or when it is closed; at once if so already.

        With `late` its end is no reason to return: what it started may still write. A wait can be cancelled; nothing
        is consumed by it.
        """

    async def exited(self, process: str) -> Process:
        """Return when the command has ended, with everything that it wrote before readable."""

    async def write(self, process: str, data: bytes, *, eof: bool) -> None:
        """Give it something to read; with `eof`, nothing after it. Returns when it is taken, or is on its way.

        Raises `RefusedError` if it was not started to be written to, or has been told the end of it.
        """

    async def resize(self, process: str, columns: int, rows: int) -> None:
        """Change the size of its terminal."""

    async def members(self, process: str) -> list[Survivor]:
        """Everything of it that runs: what the command started too, whatever became of its parents and its session."""

    async def signal(self, process: str, number: int) -> int:
        """Send a signal to everything of it; to how many it went. A stopped one hears it too.

        SIGINT goes to the foreground group of a process that has a terminal, as Ctrl-C does.
        """

    async def terminate(self, process: str, grace: float) -> list[Survivor]:
        """SIGTERM to everything of it, SIGKILL after `grace` seconds to what is left. Returns what would not end."""

    async def forget(self, processes: Sequence[str]) -> None:
        """Drop the records of processes. `RefusedError`, and nothing is dropped, if something of one still runs."""

    @property
    def server_pid(self) -> int | None:
        """The host that processes are children of; None while there is none that is known."""

    async def end_server(self) -> None:
        """End the host, once nothing runs under it; returns when it is gone. Its records go with it."""

    def close(self) -> None:
        """Let go of everything without ending anything."""
