"""What the store keeps: teams, agents, and the journal. Immutable; a change is a new record."""

from __future__ import annotations

from dataclasses import dataclass, field

from corral.domain import states
from corral.domain.access import ANY_ACCESS, NOT_ENFORCED, Access, Enforced
from corral.domain.bindings import ANY_PORT
from corral.domain.enforcement import DEFAULT_ENFORCEMENT, Enforcement
from corral.domain.group_access import NO_GROUP_ACCESS, GroupAccess
from corral.domain.kinds import AGENT
from corral.domain.lease_terms import DEFAULT_LEASE_TERMS, LeaseTerms
from corral.domain.limits import NO_LIMITS, Limits
from corral.domain.merge_rules import DEFAULT_MERGE_RULES, MergeRules
from corral.domain.moments import Moment
from corral.domain.notify import DEFAULT_NOTIFY, Notify
from corral.domain.port_blocks import DEFAULT_POOL, Pool
from corral.domain.process_limits import DEFAULT_PROCESS_LIMITS, ProcessLimits
from corral.domain.ready_rules import NO_RULE, ReadyRule
from corral.domain.recording import DEFAULT_RECORDING, Recording
from corral.domain.supervision import DEFAULT_SUPERVISION, Supervision
from corral.domain.terminals import TMUX
from corral.domain.upkeep import DEFAULT_UPKEEP, Upkeep

#: Where the first prompt of a run is on its way into the agent.
PROMPT_NONE = "none"
PROMPT_WAITING = "waiting"
#: The agent is paused: a screen that stands still looks ready, and is not.
PROMPT_HELD = "held"
PROMPT_SENDING = "sending"
PROMPT_SENT = "sent"
#: Its delivery was interrupted: it is not sent again blindly.
PROMPT_UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """A team that is up, or was and left something behind."""

    name: str
    #: The corral.toml it was declared in.
    file: str
    directory: str
    repo: str | None
    #: The OS user whose team it is; empty in the instance of one person, where all are that person's.
    user: str = ""
    #: Other OS users that agents of it are run by, or were since it is up.
    agent_users: tuple[str, ...] = ()
    #: The directory that git keeps the repository in, as it really is: the same for all its worktrees, and another one
    #: for a clone. Empty if there is none, or if it was not looked at yet.
    repository: str = ""
    #: Names that differ in case alone are one file of it.
    ignore_case: bool = False
    #: Unix time of the first `up`.
    created_at: float
    #: Whether systemd is used: "auto", "require" or "off".
    systemd: str = "auto"
    #: What the team as a whole may use.
    limits: Limits = NO_LIMITS
    #: How many commands its agents may run, and what is kept of them.
    processes: ProcessLimits = DEFAULT_PROCESS_LIMITS
    #: How long leases and locks stay without a sign of life.
    leases: LeaseTerms = DEFAULT_LEASE_TERMS
    #: What its merge queue moves, and what has to hold before it does.
    merge: MergeRules = DEFAULT_MERGE_RULES
    #: Where leases bite, and what happens when nobody can tell.
    enforcement: Enforcement = DEFAULT_ENFORCEMENT
    #: Where its agents get their ports from.
    ports: Pool = DEFAULT_POOL
    #: How it is watched over.
    supervision: Supervision = DEFAULT_SUPERVISION
    #: How people are told that something of it waits for them.
    notify: Notify = DEFAULT_NOTIFY
    #: Whether its terminals are recorded.
    recording: Recording = DEFAULT_RECORDING
    #: Which group gets into the worktrees of its agents.
    group_access: GroupAccess = NO_GROUP_ACCESS


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """What a coding agent remembers of its work, as far as Corral knows of it. See `domain.conversations`."""

    #: The program's own name for it; empty if it is not known, or not yet.
    id: str = ""
    #: How the id is known: one of `conversations.HOOK`, `GIVEN` and `TRANSCRIPT`.
    evidence: str = ""
    #: The present run, or the last one, went on with a conversation that there was.
    resumed: bool = False
    #: Unix time at which that run began.
    begun_at: float = 0.0
    #: One that could not be continued, while it is not known whether that was its fault.
    unresumed: str = ""
    #: The conversation of another agent that this one's was forked from.
    forked_from: str = ""


NO_CONVERSATION = Conversation()


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """An agent: what was declared, and what became of it."""

    team: str
    name: str
    #: Position in the file; `ps` lists in this order.
    position: int
    command: tuple[str, ...]
    shell: bool
    #: "worktree", "shared" or "directory".
    workspace_kind: str
    workspace: str
    restart: str
    prompt: str
    #: Keyed hashes of what was declared: tells what differs without keeping values that may be secret.
    fingerprint: dict[str, str] = field(default_factory=dict)
    #: What it may use of its host.
    limits: Limits = NO_LIMITS
    #: What it runs in: one of `terminals.TERMINALS`.
    terminal: str = TMUX
    #: False if its standard input ends with its prompt, or at once if it has none.
    stdin: bool = True
    #: The name of its table in the file, which others may be declared by as well: its role.
    declared_as: str = ""
    #: What it can do: it gets tasks that ask for no more than that.
    labels: tuple[str, ...] = ()
    #: Which ports it may listen on (`bindings`), and what else it may touch.
    bind: str = ANY_PORT
    access: Access = ANY_ACCESS
    #: Whether its program is told of Corral's MCP server, and of its hooks.
    mcp: bool = False
    hooks: bool = False
    #: Whether it is spoken to, or serves the others: one of `kinds.KINDS`.
    kind: str = AGENT
    #: When its run counts as ready.
    ready_when: ReadyRule = NO_RULE
    #: The agents that must be ready before it is started.
    after: tuple[str, ...] = ()
    #: How it is kept alive, besides its restart policy.
    upkeep: Upkeep = DEFAULT_UPKEEP
    #: The OS user that it is to be run by; empty for the one whose team it is.
    run_as: str = ""

    state: str = states.PENDING
    #: Unix time at which the state was entered.
    since: float = 0.0
    #: Why it is in this state, where that is not obvious.
    reason: str = ""
    #: The present run, or the last one; empty before the first.
    run: str = ""
    pid: int | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    #: Starts by the supervisor since the last one by a person.
    restarts: int = 0
    prompt_state: str = PROMPT_NONE
    user: str = ""
    host: str = ""
    #: The level it was started at, and why it was no better one.
    containment: str = ""
    containment_why: str = ""
    #: What is kept of the credential of its present or last run (`credentials.digest`), and the cgroup that it was
    #: reported to be in.
    credential: str = ""
    cgroup: str = ""
    #: What sees to it that it touches no more than it may, as of its start.
    enforced: Enforced = NOT_ENFORCED
    #: It was told to stand still, with everything it started.
    paused: bool = False
    #: How many tasks of it run on, though its terminal is gone.
    survivors: int = 0
    #: What it remembers of its work.
    conversation: Conversation = NO_CONVERSATION
    #: The agent that it was forked from, if no file declares it.
    fork_of: str = ""
    #: Its present run is ready, as far as that is waited for; counts while it runs (`dependencies.is_ready`).
    ready: bool = False
    #: The person who asked for it last: in line it has that person's turn.
    asked_by: str = ""
    #: Its place in the line of those that wait to be started. Only one that is `pending` waits.
    place: Place | None = None
    #: Unix time at which its present or last run was begun.
    started_at: float = 0.0
    #: When a person started it last: its lifetime counts from there.
    begun: Moment | None = None
    #: Ends in a row without a good run between them (`restarts`).
    crashes: int = 0
    #: The last lines that its last run had to say; kept while it is `backoff` or `failed`.
    last_words: str = ""
    #: While Corral itself ends it, and if it stays so: what is to become of it, one of `lifecycle.AFTERWARDS`.
    afterwards: str = ""
    #: Unix time at which it was told that it seems to be stuck, and since when a person is asked; 0 for not.
    nudged_at: float = 0.0
    stuck_since: float = 0.0
    #: Why it could not be told before a person was asked; empty if it was, or was not to be.
    not_nudged: str = ""
    #: Why its present run is not up though its time for that is over (`starting`); empty if it is not late.
    late: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.team, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Who:
    """Who caused something: the OS user as the kernel names it, and the agent that spoke for it, if any."""

    user: str
    uid: int
    agent: str = ""


#: Somebody of whom nothing is known: over TCP, without a token that is good.
NOBODY_KNOWN = Who(user="unknown", uid=-1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A place in the line of agents that wait to be started (`admission`)."""

    turn: int
    #: Unix time since when it waits.
    since: float
    #: Who has it started: a person, or the supervisor by its restart policy.
    who: Who
    #: How the run ended that the restart policy starts anew; empty if it is there for another reason.
    ended: str = ""


#: Corral itself, when it acts on what it observed.
SUPERVISOR = Who(user="corral", uid=-1)


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEvent:
    """An event that is about to be journalled."""

    event: str
    team: str = ""
    agent: str = ""
    outcome: str = "ok"
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One entry of the journal."""

    seq: int
    time: float
    event: str
    team: str
    agent: str
    who: Who
    outcome: str
    data: dict[str, object]
