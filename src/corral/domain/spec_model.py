"""What a `corral.toml` declares: a team and its agents, with every default filled in and every path absolute."""

from dataclasses import dataclass

from corral.domain.access import ANY_ACCESS, Access
from corral.domain.bindings import ANY_PORT
from corral.domain.enforcement import DEFAULT_ENFORCEMENT, Enforcement
from corral.domain.group_access import NO_GROUP_ACCESS, GroupAccess
from corral.domain.kinds import AGENT
from corral.domain.lease_terms import DEFAULT_LEASE_TERMS, LeaseTerms
from corral.domain.limits import NO_LIMITS, Limits
from corral.domain.merge_rules import DEFAULT_MERGE_RULES, MergeRules
from corral.domain.notify import DEFAULT_NOTIFY, Notify
from corral.domain.port_blocks import DEFAULT_POOL, Pool
from corral.domain.process_limits import DEFAULT_PROCESS_LIMITS, ProcessLimits
from corral.domain.ready_rules import NO_RULE, ReadyRule
from corral.domain.recording import DEFAULT_RECORDING, Recording
from corral.domain.supervision import DEFAULT_SUPERVISION, Supervision
from corral.domain.terminals import TMUX
from corral.domain.upkeep import DEFAULT_UPKEEP, Upkeep

RESTARTS = ("never", "on-failure", "always")
#: A restarted agent starts a new conversation, gets its first prompt again and spends money on it: only those who
#: ask for that get it.
DEFAULT_RESTART = "never"

WORKTREE = "worktree"
SHARED = "shared"

#: Whether systemd holds the agents: if it can be reached (`auto`), always (`require`: else nothing is started), or not
#: at all (`off`: panes run exactly as tmux starts them).
SYSTEMD = ("auto", "require", "off")
DEFAULT_SYSTEMD = "auto"

#: Agents of one team, all tables together.
MAX_AGENTS = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """One agent as declared; a table with `count = 2` declares two."""

    #: The agent's name in the team: that of its table, with `-1`, `-2`, … where the table asks for several.
    name: str
    #: The name of its table in the file.
    declared_as: str
    #: What to run: the argument vector, or the one string that goes to a shell if `shell` is true.
    command: tuple[str, ...]
    #: True if `command` is a string for a shell.
    shell: bool
    #: `worktree`: a git worktree of its own. `shared`: the directory that the whole team works in (`TeamSpec.base`).
    #: Anything else is the absolute path of the directory to work in.
    workspace: str
    #: Variables added to its environment, sorted by name. May hold secrets: never show, store or log the values.
    env: tuple[tuple[str, str], ...]
    #: When to start it again by itself: one of `RESTARTS`.
    restart: str
    #: The first message, delivered when the agent is ready; empty for none.
    prompt: str
    #: What it may use of its host, with the defaults of the file taken in.
    limits: Limits = NO_LIMITS
    #: What it runs in: one of `terminals.TERMINALS`.
    terminal: str = TMUX
    #: False if its standard input ends with its prompt, or at once if it has none. Always true in a terminal.
    stdin: bool = True
    #: Its workspace tells it of Corral's MCP server.
    mcp: bool = False
    #: Its program is told of Corral's hooks.
    hooks: bool = False
    #: Names of ports that it finds in its environment.
    ports: tuple[str, ...] = ()
    #: What it can do: it gets tasks that ask for no more than that. Sorted.
    labels: tuple[str, ...] = ()
    #: Which ports it may listen on (`bindings`), and what else it may touch.
    bind: str = ANY_PORT
    access: Access = ANY_ACCESS
    #: Whether it is spoken to, or serves the others: one of `kinds.KINDS`.
    kind: str = AGENT
    #: When it counts as ready.
    ready: ReadyRule = NO_RULE
    #: The agents that must be ready before it is started.
    after: tuple[str, ...] = ()
    #: How it is kept alive, besides its restart policy.
    upkeep: Upkeep = DEFAULT_UPKEEP
    #: The OS user that it is run by; empty for the one whose team it is.
    run_as: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TeamSpec:
    """One team as declared."""

    #: The team's name.
    name: str
    #: The absolute path of the file that declares it.
    file: str
    #: The directory of that file: what relative paths in it start from.
    directory: str
    #: The absolute path of the git repository that the agents work on, or None.
    repo: str | None
    #: The agents, in the order of the file, each table expanded in place.
    agents: tuple[AgentSpec, ...]
    #: What all agents together may use of their host.
    limits: Limits = NO_LIMITS
    #: Whether systemd holds the agents: one of `SYSTEMD`.
    systemd: str = DEFAULT_SYSTEMD
    #: How many commands its agents may run, and what is kept of them.
    processes: ProcessLimits = DEFAULT_PROCESS_LIMITS
    #: Where its agents get their ports from.
    ports: Pool = DEFAULT_POOL
    #: How long leases and locks stay without a sign of life.
    leases: LeaseTerms = DEFAULT_LEASE_TERMS
    #: What its merge queue moves, and what has to hold before it does.
    merge: MergeRules = DEFAULT_MERGE_RULES
    #: Where leases bite, and what happens when nobody can tell.
    enforcement: Enforcement = DEFAULT_ENFORCEMENT
    #: How it is watched over.
    supervision: Supervision = DEFAULT_SUPERVISION
    #: How people are told that something of it waits for them.
    notify: Notify = DEFAULT_NOTIFY
    #: Whether its terminals are recorded.
    recording: Recording = DEFAULT_RECORDING
    #: Which group gets into the worktrees of its agents.
    group_access: GroupAccess = NO_GROUP_ACCESS

    @property
    def base(self) -> str:
        """Where a `shared` workspace is: the repository, or the directory of the file if there is none."""
        return self.repo if self.repo is not None else self.directory
