"""What the doctor knows about a host before it says anything. Records without rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from corral.domain.diagnosis_cures import ProcessKey
from corral.domain.states import LIVE
from corral.domain.terminals import TMUX

REACHABLE, UNLINKED, REPLACED, UNCLEAR = "reachable", "unlinked", "replaced", "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What a process's environment says of it; empty where it says nothing."""

    instance: str = ""
    team: str = ""
    agent: str = ""
    run: str = ""
    home: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The first process of an agent's terminal."""

    pid: int
    start: int
    agent: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A tmux server and the socket it was bound to."""

    pid: int
    start: int
    user: str
    #: It runs as this user.
    mine: bool
    path: str
    #: REACHABLE, UNLINKED (no file at the path), REPLACED (another file) or UNCLEAR (not ours to look at).
    standing: str
    #: The pid that listens at the path now, if another does.
    replaced_by: int | None = None
    #: Another name of its socket, if there is one beside the path: there it can be reached.
    elsewhere: str = ""
    #: What is at the path is no socket.
    blocked: bool = False
    #: It does not run: somebody stopped it (SIGSTOP).
    stopped: bool = False
    marks: Marks = field(default_factory=Marks)
    #: Processes below it, each in a terminal.
    panes: int = 0
    terminals: tuple[Terminal, ...] = ()
    #: Terminals that no launch file of ours started: somebody opened them on our server. Pid and command.
    guests: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A process that has a marker of Corral in its environment, and is no tmux of Corral's own."""

    pid: int
    start: int
    command: str
    marks: Marks

    @property
    def key(self) -> ProcessKey:
        return (self.pid, self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """An agent as the daemon or its store knows it."""

    team: str
    agent: str
    state: str
    #: Unix time at which the state was entered.
    since: float
    #: Its present run; empty if that cannot be told, and then any run of it may be the present one.
    run: str
    workspace: str
    #: The first process of its run, where that is known.
    pid: int | None = None
    #: The level that holds it, as `ps` shows it, and why it is no better one.
    containment: str = ""
    containment_why: str = ""
    #: What it runs in: one of `terminals.TERMINALS`.
    terminal: str = TMUX


@dataclass(frozen=True, kw_only=True)
class Records:
    """What is known of teams and agents."""

    #: "daemon", "store", "none" (the instance was never used) or "unknown".
    source: str
    #: Why it is unknown.
    why: str = ""
    instance: str = ""
    teams: frozenset[str] = frozenset()
    agents: tuple[AgentRecord, ...] = ()
    #: The pid of a daemon that lives and cannot be reached.
    hidden_daemon: int | None = None

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], AgentRecord]:
        """The agents by team and name."""
        return {(agent.team, agent.agent): agent for agent in self.agents}

    @property
    def known(self) -> bool:
        return self.source != "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A scope of the user's service manager."""

    name: str
    active: bool
    control_group: str
    description: str
    #: None: its cgroup could not be read.
    populated: bool | None
    #: Pid and command line.
    processes: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketFile:
    """A socket of this instance on the disk."""

    path: str
    #: "daemon", "keeper", "tmux", or "host" for the one of a team's processes.
    of: str
    #: True: nobody listens. None: it could not be told.
    stale: bool | None
    #: Held while it is removed.
    locks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftWorktree:
    """A directory where worktrees are, `TEAM/AGENT`."""

    team: str
    #: Empty where the directory of the whole team is a link.
    agent: str
    path: str
    #: It is a symbolic link, and so nothing of ours.
    link: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """A directory that our sockets or files are below."""

    path: str
    owner: str
    #: Ours, or root's: nobody else can change its mode.
    trusted: bool
    mode: int
    #: Its group has nobody in it but this user.
    private_group: bool = False
    #: One of the instance's own: it has to be 0700.
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A file system that the instance writes to."""

    paths: tuple[str, ...]
    free: int
    size: int
    #: 0 where the file system has no fixed number of them.
    inodes: int
    free_inodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What this host offers."""

    user: str
    #: The host was booted with systemd.
    systemd: bool = False
    #: The user's service manager runs.
    user_manager: bool = False
    #: It has to, and to stay: the user is a member of a shared server. Its unit.
    needed_manager: str = ""
    #: The path of the user's bus; empty if there is none.
    user_bus: str = ""
    #: None: it cannot be told.
    linger: bool | None = None
    #: "v2", "hybrid", "v1" or "none".
    cgroups: str = "none"
    #: The cgroup that limits would be set below, and what it can limit; None: it cannot be told.
    delegated: str = ""
    controllers: frozenset[str] | None = None
    #: As the command line names it, and what it says of itself; empty if it cannot be run.
    tmux: str = "tmux"
    tmux_version: str = ""
    tmux_trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The daemon or the keeper, and whether it gives a sign of life."""

    #: "daemon" or "keeper".
    of: str
    pid: int
    #: It does not run: somebody stopped it (SIGSTOP).
    stopped: bool = False
    #: None: there is no socket at which it could be asked.
    answers: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All of it, from one look."""

    #: Unix time of the look.
    now: float
    home: str
    records: Records
    servers: tuple[Server, ...] = ()
    marked: tuple[Marked, ...] = ()
    #: Runs of this instance that have no terminal and whose first process is there: team, agent and run.
    plain_runs: frozenset[tuple[str, str, str]] = frozenset()
    scopes: tuple[Scope, ...] = ()
    sockets: tuple[SocketFile, ...] = ()
    worktrees: tuple[LeftWorktree, ...] = ()
    directories: tuple[Directory, ...] = ()
    disks: tuple[Disk, ...] = ()
    #: Files of a person that are no profiles: path, what is wrong, what would be right.
    bad_profiles: tuple[tuple[str, str, str], ...] = ()
    host: Host
    #: The daemon and the keeper, where they should be there.
    lives: tuple[Life, ...] = ()
    #: Check → why it could not be made, or not all of it.
    not_checked: Mapping[str, str] = field(default_factory=dict)

    @property
    def unattended(self) -> tuple[AgentRecord, ...]:
        """The agents that count as up while no daemon runs, as its store has them."""
        if self.records.source != "store":
            return ()
        return tuple(agent for agent in self.records.agents if agent.state in LIVE)

    def is_ours(self, marks: Marks) -> bool:
        """True if the marks are those of this instance."""
        return bool(self.records.instance) and marks.instance == self.records.instance
