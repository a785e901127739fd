"""What the daemon may ask of a keeper. What a keeper reports by itself is in `ports.reports`.

The records are the wire format as well: msgpack frames, the same over a unix socket, `sudo` or `ssh`. A keeper decides
nothing. It answers with what it saw, and where it could not see, it says `unknown`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from corral.domain.access import Obstacles
from corral.domain.bindings import ANY_PORT
from corral.domain.confinement import NO_CONFINES, Confines
from corral.domain.enforcement import Enforcement
from corral.domain.limits import NO_LIMITS, Limits
from corral.domain.ready_rules import NO_RULE, ReadyRule
from corral.domain.terminals import TMUX
from corral.ports.casts import Recordings
from corral.ports.checking import Checking
from corral.ports.conversations import Conversing
from corral.ports.dialogs import Dialogs
from corral.ports.merging import Merging
from corral.ports.notices import Notices
from corral.ports.record import Record as Record
from corral.ports.sessions import SharedSessions
from corral.ports.typing import TypingSteps

if TYPE_CHECKING:
    from corral.ports.history import AskedMerge, FileHistory
    from corral.ports.links import RealPath, SymbolicLinks
    from corral.ports.memory import HostMemory
    from corral.ports.processes import Execution, Process, ProcessOrder
    from corral.ports.usage import Usage

#: Raised with every change that an older peer would misread; both sides compare it when they meet.
PROTOCOL = 9

#: Observation has three values. Nothing is killed, restarted or reported gone on "unknown".
Presence = Literal["present", "absent", "unknown"]


class Hello(Record, frozen=True):
    """Who the keeper is; the first answer on every connection."""

    protocol: int
    version: str
    instance: str
    user: str
    host: str
    boot_id: str
    pid: int
    #: The best level of containment that the host offers, and why it offers no better one.
    containment: str
    containment_why: str = ""
    #: Why agents cannot be kept to what they may touch here.
    obstacles: Obstacles = Obstacles()


class ReadyOrder(Record, frozen=True):
    """A run that is to be reported when it is ready."""

    run: str
    #: What has to be seen; without a rule, that the agent can take a message.
    rule: ReadyRule = NO_RULE
    #: Where it works.
    directory: str = ""
    #: What a command that looks at it may touch: what the agent may.
    bind: str = ANY_PORT
    confines: Confines = NO_CONFINES


class Launch(Record, frozen=True):
    """One agent to start: a new session with this command in this directory."""

    agent: str
    #: Names this one start of the agent. A run that exists already is reported, never started twice.
    run: str
    #: argv, or with `shell` one string for the person's shell.
    command: list[str]
    directory: str
    shell: bool = False
    #: The whole environment of the run. None: the one that the agent's last run had (a restart by the supervisor).
    environment: dict[str, str] | None = None
    #: Report when the run is ready.
    watch_ready: bool = False
    ready_when: ReadyRule = NO_RULE
    #: What it may use of the host.
    limits: Limits = NO_LIMITS
    #: What it runs in: one of `terminals.TERMINALS`.
    terminal: str = TMUX
    #: Without a terminal: something will be sent to it. Otherwise its standard input is empty and at its end.
    stdin: bool = True
    #: Which ports it may listen on (`bindings`), and what else it may touch.
    bind: str = ANY_PORT
    confines: Confines = NO_CONFINES
    #: What proves, together with its cgroup, that it is this run that speaks to the daemon.
    credential: str = ""

    def __repr__(self) -> str:
        """Without secrets: what is shown ends in logs."""
        return f"Launch(agent={self.agent!r}, run={self.run!r})"

    @property
    def ready_order(self) -> ReadyOrder:
        """What is to be seen of it before it counts as ready."""
        return ReadyOrder(
            run=self.run, rule=self.ready_when, directory=self.directory, bind=self.bind, confines=self.confines
        )


class TeamOrder(Record, frozen=True):
    """How a team is to be contained."""

    #: "auto": systemd if it can be had, "require": or nothing is started, "off": panes as tmux starts them.
    systemd: str = "auto"
    #: What the team as a whole may use.
    limits: Limits = NO_LIMITS

    @property
    def left_alone(self) -> bool:
        """Panes are to be as tmux starts them."""
        return self.systemd == "off"


class ExitStatus(Record, frozen=True):
    """How a run ended. Both empty: it is gone and nobody saw how."""

    code: int | None = None
    signal: int | None = None

    @property
    def shell_code(self) -> int | None:
        """The exit code as a shell tells it: 128 and the signal for a death by one."""
        return self.code if self.signal is None else 128 + self.signal


class Told(Record, frozen=True):
    """What the last record of an agent that says anything says it does; see `domain.told_records`."""

    activity: str
    #: Unix time at which it was written.
    at: float
    #: `protocol` or `transcript`.
    source: str


class Run(Record, frozen=True):
    """A run as the keeper sees it now."""

    agent: str
    run: str
    pid: int | None = None
    alive: Presence = "present"
    exit: ExitStatus | None = None
    #: Wall-clock seconds of the last output; None before the first.
    last_output: float | None = None
    #: The same of what was new on its screen: what turns there, and seconds that run, do not count. Where nobody reads
    #: its screen, of its last output.
    last_news: float | None = None
    activity: str = "unknown"
    #: What it waits for, the rule that its screen fits, the mark of its dialog, and since when: see
    #: `reports.ActivityChanged`.
    activity_about: str = ""
    activity_rule: str = ""
    activity_dialog: str = ""
    activity_at: float = 0.0
    #: What it wrote down of that itself.
    told: Told | None = None
    #: Why it could not be started, or what is wrong with it; empty when all is well.
    problem: str = ""
    #: The last lines of its screen once it ended.
    last_words: str = ""
    #: How often the kernel killed a process of it for want of memory; known once it ended.
    oom_kills: int = 0
    #: How many tasks of the agent run on, though its terminal went with the tmux server.
    survivors: int = 0
    #: The level of containment it was started at; empty where this keeper did not start it.
    containment: str = ""
    #: Why it has no better one, or which of its limits nothing enforces.
    containment_why: str = ""
    #: The cgroup of its agent, as `/proc/PID/cgroup` has it; empty where it has none, or this keeper did not start it.
    cgroup: str = ""


class TerminalShown(Record, frozen=True):
    """What a terminal shows."""

    lines: list[str] = msgspec.field(default_factory=list)
    #: What its program calls it; empty without a terminal.
    title: str = ""


class Started(Record, frozen=True):
    """What came of starting some runs."""

    runs: list[Run] = msgspec.field(default_factory=list)
    #: What a person should know besides: limits that nothing enforces.
    notes: list[str] = msgspec.field(default_factory=list)


class Inventory(Record, frozen=True):
    """Everything of a team that the keeper can see on its host."""

    team: str
    #: The tmux server, and so whether agents with a terminal can be seen.
    server: Presence
    server_pid: int | None = None
    runs: list[Run] = msgspec.field(default_factory=list)
    why: str = ""
    #: The same for agents without one.
    host: Presence = "absent"
    host_why: str = ""
    #: By agent, how many tasks run on without a terminal. Counted only when the server is absent.
    survivors: dict[str, int] | None = None
    #: By agent, how many commands run that were started for it.
    processes: dict[str, int] = msgspec.field(default_factory=dict)


class Residue(Record, frozen=True, omit_defaults=False):
    """One thing that is left, with what a person needs to deal with it."""

    kind: str
    name: str
    pid: int | None = None
    command: str = ""
    why: str = ""


class Ended(Record, frozen=True):
    """What stopping some runs did."""

    #: Runs that are proved gone.
    gone: list[str] = msgspec.field(default_factory=list)
    #: How each ended, where tmux could tell.
    exits: dict[str, ExitStatus] = msgspec.field(default_factory=dict)
    #: Processes that had to be killed after the grace period.
    killed: int = 0
    residue: list[Residue] = msgspec.field(default_factory=list)


class Check(Record, frozen=True, omit_defaults=False):
    """One line of the census: what was looked for, how many were found, and each of them."""

    what: str
    #: None: it could not be counted, and what is in `residue` says why.
    found: int | None
    residue: list[Residue] = msgspec.field(default_factory=list)


class Bystander(Record, frozen=True, omit_defaults=False):
    """A process that is not the team's and lives in one of its workspaces."""

    pid: int
    command: str
    #: The workspace.
    directory: str


class Repository(Record, frozen=True):
    """What is at the path a team names as its repository."""

    path: str
    #: "normal", "bare", "empty" (no commit yet), "none" (not a repository) or "missing".
    kind: str
    head: str = ""
    #: The branch that HEAD names; empty if it names none.
    branch: str = ""
    #: It has changes that are in no commit, and so in no worktree.
    dirty: bool = False
    problem: str = ""
    #: A branch that no branch of an agent can be beside.
    in_the_way: str = ""
    #: The directory that git keeps it in, as it really is; all its worktrees share it.
    common: str = ""
    #: Names that differ in case alone are one file there: git was told so, or it is so.
    ignore_case: bool = False


class Workspace(Record, frozen=True):
    """A directory that an agent may work in."""

    path: str
    kind: str
    branch: str = ""
    #: True if this call made it; false if it was there already.
    created: bool = False
    #: Something a person should know: the repository is dirty, an old worktree is used again, …
    note: str = ""


class WorkspaceRemoval(Record, frozen=True):
    """What became of a workspace: removed, or kept for the work in it."""

    path: str
    removed: bool
    #: Why it was kept, or what was thrown away with it.
    why: str = ""
    #: It is no worktree of ours, and a person has to move it away: `discard` does not remove it.
    in_the_way: bool = False


class HostPorts(Record, frozen=True):
    """What is to be known of the ports of a host before some are given away."""

    #: The first and the last port that the kernel gives to outgoing connections.
    ephemeral: tuple[int, int]
    #: Those of the ports asked for that nobody could listen on now, because somebody does.
    taken: list[int] = msgspec.field(default_factory=list)


class Listening(Record, frozen=True):
    """A TCP port that somebody listens on."""

    port: int
    #: The agent whose process it is; empty if it is nobody's of the team.
    agent: str = ""
    #: None if it cannot be seen whose it is.
    pid: int | None = None
    command: str = ""


class SeenFile(Record, frozen=True):
    """A file that somebody named."""

    #: Where it is when symbolic links are followed.
    real: str
    #: The directory that it is below, of those that were named; empty if it is below none, and then nothing is said.
    top: str = ""
    #: Its path from there.
    below: str = ""
    #: Stands for its contents; empty if it is not there.
    stamp: str = ""


class LogEntry(Record, frozen=True):
    """A piece of terminal output."""

    time: float
    text: str


class LogPage(Record, frozen=True):
    """Output from a cursor on, and the cursor to go on from."""

    entries: list[LogEntry]
    next: int
    #: Output between the cursor asked for and the first entry is gone (rotated away).
    cut: bool = False


class Keeper(Merging, Conversing, Dialogs, Notices, Checking, TypingSteps, SharedSessions, Recordings, Protocol):
    """One keeper, wherever it runs. Every call may raise `UnavailableError`: then the outcome is unknown."""

    async def hello(self) -> Hello:
        """Who this keeper is."""

    async def inventory(self, team: str) -> Inventory:
        """What there is of `team`. Starts nothing."""

    async def repository(self, path: str) -> Repository:
        """What kind of repository is at `path`."""

    async def real_paths(self, directory: str, paths: list[str]) -> list[RealPath]:
        """Where each path below the directory leads. What is not there is taken as it is."""

    async def symbolic_links(self, directory: str) -> SymbolicLinks:
        """The symbolic links below the directory that git knows of, or that are found where there is no git."""

    async def look_at_files(self, *, cwd: str, paths: list[str], tops: list[str]) -> list[SeenFile]:
        """What each of the paths is now, relative ones from `cwd`. Of what is below none of `tops`, where it is."""

    async def file_history(
        self, *, repo: str, path: bytes, workspaces: list[str], limit: int, merges: list[AskedMerge]
    ) -> FileHistory:
        """What git tells of one file of the repository, of it in these working trees and of these merges.

        Changes nothing.
        """

    async def prepare_workspace(
        self, *, team: str, agent: str, kind: str, path: str, repo: str | None, start: str = "", access: str = "none"
    ) -> Workspace:
        """Make, or find again, the workspace of an agent. Work that is in it stays.

        A worktree that is made begins with the commit `start`, or where the repository is now.
        """

    async def guard_workspace(
        self, *, team: str, agent: str, path: str, enforcement: Enforcement, target: str = ""
    ) -> str:
        """Have the hooks of an agent's worktree be as the team's settings say; without any, leave no trace of them.

        `target` is the branch of the merge queue; empty if there is none.
        The answer is what a person should know of it; empty if all is well.
        """

    async def register_server(self, *, path: str, profile: str) -> str:
        """Tell the coding agent of that profile, which works at `path`, of Corral's MCP server.

        The answer is what a person should know of it; empty if all is well.
        """

    async def register_hooks(self, *, path: str, profile: str, remove: bool) -> str:
        """Tell the coding agent of that profile, which works at `path`, of Corral's hooks, or no more.

        The answer is as above; that it could not be done is an error.
        """

    async def inspect_workspaces(self, team: str) -> list[WorkspaceRemoval]:
        """The worktrees of `team` that exist, each with the work that is in it (`why`)."""

    async def remove_workspace(
        self, *, team: str, agent: str, path: str, repo: str | None, discard: bool
    ) -> WorkspaceRemoval:
        """Remove a worktree if no work would be lost by it, or if `discard` says so."""

    async def prepare(self, team: str, order: TeamOrder) -> None:
        """Have ready what `start` needs and what takes a moment: the team's tmux server."""

    async def start(self, team: str, launches: list[Launch], order: TeamOrder) -> Started:
        """Start the runs, all in one go; each has its own outcome. Idempotent by run."""

    async def freeze(self, team: str, runs: list[str], *, frozen: bool) -> None:
        """Keep every process of the runs from running, or let them run again."""

    async def limit(self, team: str, limits: dict[str, Limits], team_limits: Limits) -> list[str]:
        """Change what agents that run, and their team, may use. Returns what nothing enforces, in words."""

    async def usage(self, team: str) -> list[Usage]:
        """What each agent of the team uses now, and the team as a whole, last."""

    async def host_ports(self, ports: list[int]) -> HostPorts:
        """Which of these TCP ports are taken, by trying to bind each; and which ones are not to be given away."""

    async def listening(self, team: str, ports: list[int]) -> list[Listening]:
        """Every TCP port that a process of an agent listens on, and who else listens on one of `ports`."""

    async def over(self, team: str, runs: dict[str, str]) -> list[str]:
        """Those of the runs (run → agent) whose programs have ended. A look at files, before anybody is told."""

    async def watch_ready(self, team: str, order: ReadyOrder) -> None:
        """Report `RunReady` for a run that was started earlier."""

    async def keep_environments(self, team: str, environments: dict[str, dict[str, str]]) -> None:
        """Keep the environments (by agent) that agents will be started with later, as if they had been."""

    async def host_memory(self, teams: list[str]) -> HostMemory:
        """How much memory is left. `teams` are those whose own limit is to be looked at."""

    async def stop(self, team: str, runs: dict[str, str], grace: float, *, spare: bool) -> Ended:
        """End the runs (run → agent) with everything they started: politely, then after `grace` seconds by force.

        With `spare`, processes that were started for the agents go on.
        """

    async def take_down(self, team: str, grace: float) -> Ended:
        """End everything of the team, its tmux server last, and wait until it is gone."""

    async def bystanders(self, team: str, directories: list[str], asking: int) -> list[Bystander]:
        """Processes that are not the team's and have one of these directories as their working directory.

        Not the process that asks, nor the shell it was asked from.
        """

    async def census(self, team: str) -> list[Check]:
        """Look for what is left of the team by means that do not rely on what the keeper remembers.

        Except for ports: which were the team's is noted by `take_down`, because nothing says so afterwards.
        """

    async def forget_agent(self, team: str, agent: str) -> None:
        """Drop what is kept to start the agent again. Its log stays."""

    async def screen(self, team: str, run: str) -> TerminalShown:
        """What the terminal shows now; without one, the last lines of the output."""

    async def attach_command(self, team: str, run: str, *, read_only: bool) -> list[str]:
        """The argv that joins the terminal of a run."""

    async def read_log(
        self, *, team: str, agent: str, after: int | None, lines: int | None, since: float | None, wait: bool
    ) -> LogPage:
        """Output after a cursor, or the end of it; with `wait`, not before there is some."""

    async def execute(self, team: str, order: ProcessOrder, wait: float | None, limit: int) -> Execution:
        """Start a command for an agent, and wait for its end for so many seconds (None: however long it takes).

        Comes back with at most `limit` bytes of its output. A command that has not ended goes on. Idempotent by id.
        """

    async def processes(self, team: str, agent: str) -> list[Process]:
        """What an agent started through `execute`, the oldest first; with an empty name, all agents of the team."""

    async def read_process(
        self, team: str, agent: str, process: str, *, after: int, limit: int, wait: float | None, late: bool
    ) -> Execution:
        """Output of a process from a cursor on. Waits so long for there to be some, or for the end of it.

        With `late`, which is for who knows of its end, that is waited for which others write then. Without, one that
        has ended is told at once, be it before or after this began.

        `NotFoundError` if the agent has no such process; an empty name is any agent of the team. As with the others.
        """

    async def wait_process(self, team: str, agent: str, process: str, *, wait: float | None) -> Process:
        """Wait so long for the end of the command."""

    async def write_process(self, team: str, agent: str, process: str, *, data: bytes, eof: bool) -> None:
        """Give a process something to read; with `eof` nothing after it."""

    async def resize_process(self, team: str, agent: str, process: str, *, columns: int, rows: int) -> None:
        """Change the size of the terminal of a process."""

    async def signal_process(self, team: str, agent: str, process: str, *, number: int) -> int:
        """Send a signal to everything of a process; to how many it went."""

    async def end_process(self, team: str, agent: str, process: str, *, grace: float) -> Execution:
        """End everything of a process: politely, then by force. `survivors` is what would not end."""

    async def forget_processes(self, team: str, agent: str, processes: list[str]) -> None:
        """Drop the records of processes. `RefusedError`, and nothing is dropped, if something of one still runs."""

    async def shelter_daemon(self, pid: int) -> None:
        """Give the daemon a place of its own, where it shares nobody's fate."""

    async def shut_down(self, *, force: bool) -> bool:
        """Ask the keeper to end. It refuses (False) while a tmux server of its is up, unless `force`."""
