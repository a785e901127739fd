"""`corral.toml`: what a team is, checked strictly before anything is started.

    [team]
    name = "shop"                 # names sessions, branches and units
    repo = "."                    # optional: the git repository that the agents work on
    mcp = true                    # optional: tell coding agents of Corral's MCP server
    hooks = true                  # optional: have coding agents ask before they write
    group = "devs"                # on a shared server: this group gets into the worktrees of its agents
    group_access = "read"         # none (default) | read | write: what it may do there

    [agents.builder]
    command = ["claude"]          # argv, or one string for a shell
    count = 2                     # builder-1, builder-2; without it, or with 1, plain builder
    workspace = "worktree"        # worktree (default with a repo) | shared (default without) | "some/dir"
    env = { NODE_ENV = "test" }
    restart = "on-failure"        # never (default) | on-failure | always; or { policy = "…", attempts = 5, … }
    check = "make ping"           # exit code 0: it is well; or { command = "…", every = "30s", … }
    start_timeout = "1m"          # it is to be ready by then, and its check may fail for so long
    stuck_after = "20m"           # it works, and its screen has shown nothing new for so long
    nudge = "Are you stuck?"      # said to it then, before a person is told
    lifetime = "8h"               # it is stopped after so long
    prompt = "…"                  # first message, delivered when the agent is ready
    terminal = "tmux"             # tmux (default) | none: it reads and writes pipes
    stdin = true                  # without a terminal: false if its input ends with its prompt, or at once
    ports = ["web", "api"]        # names of ports of its own: CORRAL_PORT_WEB, CORRAL_PORT_API, besides PORT
    labels = ["python"]           # what it can do: it gets tasks that ask for no more
    kind = "service"              # agent (default) | service: nobody speaks to it; a database, a development server
    ready = { port = "web" }      # when it counts as ready: { port = … }, { log = "regex" } or { command = "…" }
    after = ["db"]                # it is started once these are ready
    run_as = "agent-builder"      # on a shared server: this OS user runs it, and not whoever says `up`
    memory_max = "2G"             # limits; also in [team], on all together, and in [defaults], for each

    [agents.builder.access]       # what it may touch
    write = ["src/**", "~/data"]  # patterns in its workspace, and directories elsewhere
    read = ["src/**", "/srv"]     # directories and files
    bind = "own"                  # TCP ports: any (default) | own | none | [8080]
    network = "none"              # any (default) | none
    enforce = "auto"              # who sees to `write`: auto (default) | kernel | commit

    [containment]
    systemd = "auto"              # auto (default) | require | off

    [processes]
    running = 2048                # commands of one agent that may run at once
    output = "8M"                 # output kept of each command: an eighth from its beginning, the rest is its end
    records = 200                 # ended commands kept of each agent
    disk = "512M"                 # output kept of all commands together

    [ports]
    range = "20000-29999"         # where the ports of agents come from
    block = 10                    # how many each agent has

    [leases]
    suspect = "60s"               # an agent's lease stays so long after its run ended without a word
    person = "10m"                # a person's lease, unless it is renewed
    lock = "30s"                  # a lock, unless its command renews it

    [merge]
    target = "main"               # the branch that the merge queue moves; without it, the one that HEAD names at `up`
    gates = ["make test"]         # commands that must succeed on the merged tree
    timeout = "30m"               # for each gate
    batch = 8                     # so many branches are tried together at most

    [enforcement]
    worktrees = true              # hooks in worktrees refuse commits that change what somebody else holds
    unreachable = "deny"          # deny (default) | allow: what hooks say while the daemon cannot be reached
    stash = "deny"                # deny (default) | allow: git's stash, which all worktrees share

    [supervision]
    unattended = { after = "2h", then = "pause" }   # nobody showed up for so long: notify | pause | stop
    max_agents = 8                # so many may run at once; the others wait as pending. 0, as without it: any number
    start_at_once = 4             # so many may start up at once; 0, as without it: any number
    memory_pressure = 20          # nobody is started while the host waits for memory so many percent of the time
    memory_headroom = 10          # … nor while less than so many percent of the team's own memory limit are free

    [notify]                      # how people are told that something waits for them: corral inbox
    bell = true                   # ring terminals that are attached to the team (default)
    desktop = true                # notify-send, where there is one
    webhook = "https://…"         # post the entry there
    command = ["notify-me"]       # run this, with the entry as JSON on its standard input
    for = ["permission"]          # only of these kinds; without it, of all

    [recording]                   # record what terminals show: corral replay; without this table, nothing is
    keep = "30d"                  # how long
    max_size = "256M"             # how much of each agent; the oldest goes first

This is the only module of its family that others import, but for `spec_text`, which spares `corral up` the rest.
Nothing here touches a file: the caller reads it.
"""

import os.path
from dataclasses import replace

from corral.domain import names
from corral.domain.enforcement import ENFORCEMENT_NAMES
from corral.domain.errors import BadSpecError
from corral.domain.group_access import NO_GROUP_ACCESS
from corral.domain.lease_terms import LEASE_TERM_NAMES
from corral.domain.limits import LIMIT_NAMES
from corral.domain.merge_rules import MERGE_RULE_NAMES
from corral.domain.process_limits import PROCESS_LIMIT_NAMES
from corral.domain.spec_agents import KEYS as AGENT_KEYS
from corral.domain.spec_agents import read_agents
from corral.domain.spec_enforcement import read_enforcement
from corral.domain.spec_fingerprint import adjusted, differences, fingerprint, fingerprints, split_differences
from corral.domain.spec_leases import read_lease_terms
from corral.domain.spec_limits import ALIASES as LIMIT_ALIASES
from corral.domain.spec_limits import TAKEN_BY
from corral.domain.spec_limits_sense import check_room, read_bounds
from corral.domain.spec_merge import read_merge_rules
from corral.domain.spec_model import (
    DEFAULT_RESTART,
    DEFAULT_SYSTEMD,
    MAX_AGENTS,
    RESTARTS,
    SHARED,
    SYSTEMD,
    WORKTREE,
    AgentSpec,
    TeamSpec,
)
from corral.domain.spec_notify import read_notify
from corral.domain.spec_paths import resolved
from corral.domain.spec_ports import KEYS as PORTS_KEYS
from corral.domain.spec_ports import read_pool
from corral.domain.spec_problems import Problems
from corral.domain.spec_processes import read_process_limits
from corral.domain.spec_recording import read_recording
from corral.domain.spec_supervision import KEYS as SUPERVISION_KEYS
from corral.domain.spec_supervision import read_supervision
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table
from corral.domain.spec_text import MAX_BYTES, decode
from corral.domain.spec_users import TEAM_ALIASES, read_group_access
from corral.domain.spec_users import TEAM_KEYS as GROUP_KEYS

__all__ = [
    "DEFAULT_RESTART",
    "DEFAULT_SYSTEMD",
    "MAX_AGENTS",
    "MAX_BYTES",
    "RESTARTS",
    "SHARED",
    "SYSTEMD",
    "WORKTREE",
    "AgentSpec",
    "TeamSpec",
    "adjusted",
    "decode",
    "differences",
    "fingerprint",
    "fingerprints",
    "name_in",
    "parse",
    "split_differences",
]

_TABLES = (
    *("team", "defaults", "containment", "processes", "ports", "leases", "merge", "enforcement", "supervision"),
    *("notify", "recording", "agents"),
)
_TABLE_ALIASES = {
    "agent": "agents",
    "default": "defaults", "limits": "defaults", "resources": "defaults",
    "cgroup": "containment", "cgroups": "containment", "isolation": "containment", "systemd": "containment",
    "commands": "processes", "exec": "processes", "proc": "processes",
    "port": "ports",
    "lease": "leases", "locks": "leases",
    "enforce": "enforcement", "guard": "enforcement", "hooks": "enforcement",
    "alert": "notify", "alerts": "notify", "notifications": "notify", "notification": "notify",
    "record": "recording", "recordings": "recording", "asciicast": "recording", "replay": "recording",
    "attendance": "supervision", "supervise": "supervision", "supervisor": "supervision",
    "merging": "merge", "merge_queue": "merge", "queue": "merge",
}  # fmt: skip
_TEAM_KEYS = ("name", "repo", "mcp", "hooks", *GROUP_KEYS)
_TEAM_ALIASES = {"repository": "repo", "git": "repo", "path": "repo", **TEAM_ALIASES, **LIMIT_ALIASES}
_OF_AGENTS = dict.fromkeys(AGENT_KEYS, "an [agents.NAME] table")
_OF_TEAM = dict.fromkeys(_TEAM_KEYS, "[team]")
_OF_LIMITS = dict.fromkeys(LIMIT_NAMES, TAKEN_BY)
_OF_CONTAINMENT = {"systemd": "[containment]"}
_OF_PROCESSES = dict.fromkeys(PROCESS_LIMIT_NAMES, "[processes]")
_OF_PORTS = dict.fromkeys(PORTS_KEYS, "[ports]")
_OF_LEASES = dict.fromkeys(LEASE_TERM_NAMES, "[leases]")
_OF_ENFORCEMENT = dict.fromkeys(ENFORCEMENT_NAMES, "[enforcement]")
_OF_SUPERVISION = dict.fromkeys(SUPERVISION_KEYS, "[supervision]")
_OF_MERGE = dict.fromkeys(MERGE_RULE_NAMES, "[merge]")
_SYSTEMD_ALIASES = {
    "always": "require", "force": "require", "must": "require", "required": "require", "true": "require",
    "disabled": "off", "false": "off", "never": "off", "no": "off", "none": "off",
    "on": "auto", "try": "auto", "yes": "auto", "prefer": "auto",
}  # fmt: skip
_BYTE_ORDER_MARK = "\ufeff"
_AGENTS_EXAMPLE = '[agents.builder] with command = ["claude"]'


def parse(text: str, file: str) -> TeamSpec:
    """The team that `text`, the contents of `file`, declares.

    Raises BadSpecError with every mistake in the file: its message has a line `FILE:LINE: KEY: what is wrong` for
    each, its remedy says what would be right, and `details["problems"]` has both as data. `file` is an absolute
    path, because relative paths in the file start from its directory and not from where this process happens to be.
    """
    if not os.path.isabs(file) or "\0" in file:
        raise BadSpecError(f"{file[:200]!r} is not the absolute path of a file", "name it from / on")
    text = text.removeprefix(_BYTE_ORDER_MARK)
    directory = os.path.normpath(os.path.dirname(file))
    problems = Problems(file, text)
    root = Table(problems, (), load(text, file))
    root.only(_TABLES, _TABLE_ALIASES, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_PROCESSES, **_OF_PORTS})
    team = _team_table(root, directory)
    name, repo = _team(team, directory) if team else ("", None)
    mcp = team is not None and team.take("mcp", bool, "mcp = true") is True
    hooks = team is not None and team.take("hooks", bool, "hooks = true") is True
    group_access = read_group_access(team) if team is not None else NO_GROUP_ACCESS
    systemd = _systemd(root)
    processes = read_process_limits(root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_CONTAINMENT})
    ports = read_pool(root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_CONTAINMENT, **_OF_PROCESSES})
    leases = read_lease_terms(root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_CONTAINMENT, **_OF_PROCESSES})
    merge = read_merge_rules(
        root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_PROCESSES}, has_repo=team is None or "repo" in team.data
    )
    enforcement = read_enforcement(root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_PROCESSES})
    notify = read_notify(root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_PROCESSES})
    recording = read_recording(root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_PROCESSES})
    supervision = read_supervision(root, {**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_PROCESSES})
    bounds = read_bounds(team, _defaults_table(root))
    agents: tuple[AgentSpec, ...] = ()
    if "agents" not in root.data:
        root.wrong("agents", "there are no agents", f"add {_AGENTS_EXAMPLE}")
    elif table := root.table("agents", _AGENTS_EXAMPLE):
        # What else is wrong is worth knowing, but nothing about a repository that nobody could name yet.
        has_repo = team is None or "repo" in team.data
        agents = read_agents(table, directory, has_repo, bounds, ports.block)
        if mcp or hooks:
            agents = tuple(replace(agent, mcp=mcp, hooks=hooks) for agent in agents)
    if team:
        check_room(team, bounds.team, len(agents))
    problems.raise_if_any()
    return TeamSpec(
        name=name,
        file=file,
        directory=directory,
        repo=repo,
        agents=agents,
        limits=bounds.team_limits,
        systemd=systemd,
        processes=processes,
        ports=ports,
        leases=leases,
        merge=merge,
        enforcement=enforcement,
        supervision=supervision,
        notify=notify,
        recording=recording,
        group_access=group_access,
    )


def name_in(text: str, file: str) -> str:
    """The name of the team that `text` declares, as `parse` reads it and whatever else is wrong; empty if there is none
    that a team can have.
    """
    try:
        team = load(text.removeprefix(_BYTE_ORDER_MARK), file).get("team")
    except BadSpecError:
        return ""
    name = team.get("name") if isinstance(team, dict) else None
    return name if isinstance(name, str) and names.is_valid(name) else ""


def _team_table(root: Table, directory: str) -> Table | None:
    example = f"[team] with {_name_example(directory)}"
    if "team" not in root.data:
        root.wrong("team", "this table is missing", f"add {example}")
    return root.table("team", example)


def _team(team: Table, directory: str) -> tuple[str, str | None]:
    """The team's name and its repository."""
    elsewhere = {**_OF_AGENTS, **_OF_CONTAINMENT, **_OF_PROCESSES, **_OF_PORTS, **_OF_SUPERVISION}
    team.only((*_TEAM_KEYS, *LIMIT_NAMES), _TEAM_ALIASES, elsewhere)
    name = team.need("name", str, _name_example(directory)) or ""
    if isinstance(team.data.get("name"), str) and not names.is_valid(name):
        nearest = names.suggestion(name)
        remedy = f"did you mean '{nearest}'? " if nearest else ""
        team.wrong("name", "this is not a valid name for a team", f"{remedy}A name has {names.RULE}")
    repo = team.take("repo", str, 'repo = "."')
    return name, None if repo is None else resolved(team, "repo", repo, directory)


def _name_example(directory: str) -> str:
    return f'name = "{names.suggestion(os.path.basename(directory)) or "shop"}"'


def _defaults_table(root: Table) -> Table | None:
    defaults = root.table("defaults", '[defaults] with memory_max = "2G"')
    if defaults:
        defaults.only(LIMIT_NAMES, LIMIT_ALIASES, {**_OF_TEAM, **_OF_AGENTS, **_OF_CONTAINMENT, **_OF_PROCESSES})
    return defaults


def _systemd(root: Table) -> str:
    containment = root.table("containment", '[containment] with systemd = "auto"')
    if containment is None:
        return DEFAULT_SYSTEMD
    containment.only(("systemd",), elsewhere={**_OF_TEAM, **_OF_AGENTS, **_OF_LIMITS, **_OF_PROCESSES})
    return containment.word(
        "systemd",
        SYSTEMD,
        DEFAULT_SYSTEMD,
        wrong="is no way to use systemd",
        example="off" if containment.data.get("systemd") is False else DEFAULT_SYSTEMD,
        aliases=_SYSTEMD_ALIASES,
    )
