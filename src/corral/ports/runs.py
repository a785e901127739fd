"""What the daemon orders of agents that run, and what a keeper sees of them."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from corral.domain.bindings import ANY_PORT
from corral.domain.confinement import NO_CONFINES, Confines
from corral.domain.limits import NO_LIMITS, Limits
from corral.domain.ready_rules import NO_RULE, ReadyRule
from corral.domain.terminals import TMUX
from corral.ports.census import Residue
from corral.ports.record import Record

#: Observation has three values. Nothing is killed, restarted or reported gone on "unknown".
Presence = Literal["present", "absent", "unknown"]


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


class Ended(Record, frozen=True):
    """What stopping some runs did."""

    #: Runs that are proved gone.
    gone: list[str] = msgspec.field(default_factory=list)
    #: How each ended, where tmux could tell.
    exits: dict[str, ExitStatus] = msgspec.field(default_factory=dict)
    #: Processes that had to be killed after the grace period.
    killed: int = 0
    residue: list[Residue] = msgspec.field(default_factory=list)


class Running(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def inventory(self, team: str) -> Inventory:
        """What there is of `team`. Starts nothing."""

    async def prepare(self, team: str, order: TeamOrder) -> None:
        """Have ready what `start` needs and what takes a moment: the team's tmux server."""

    async def start(self, team: str, launches: list[Launch], order: TeamOrder) -> Started:
        """Start the runs, all in one go; each has its own outcome. Idempotent by run."""

    async def over(self, team: str, runs: dict[str, str]) -> list[str]:
        """Those of the runs (run → agent) whose programs have ended. A look at files, before anybody is told."""

    async def watch_ready(self, team: str, order: ReadyOrder) -> None:
        """Report `RunReady` for a run that was started earlier."""

    async def keep_environments(self, team: str, environments: dict[str, dict[str, str]]) -> None:
        """Keep the environments (by agent) that agents will be started with later, as if they had been."""

    async def freeze(self, team: str, runs: list[str], *, frozen: bool) -> None:
        """Keep every process of the runs from running, or let them run again."""

    async def stop(self, team: str, runs: dict[str, str], grace: float, *, spare: bool) -> Ended:
        """End the runs (run → agent) with everything they started: politely, then after `grace` seconds by force.

        With `spare`, processes that were started for the agents go on.
        """

    async def take_down(self, team: str, grace: float) -> Ended:
        """End everything of the team, its tmux server last, and wait until it is gone."""

    async def forget_agent(self, team: str, agent: str) -> None:
        """Drop what is kept to start the agent again. Its log stays."""
