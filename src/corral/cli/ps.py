"""`corral ps`: the agents that are up.

The most used command, and the one with a budget: at most 2.5 times the start of the interpreter. So the daemon
sends columns, not JSON, and nothing here loads more than it needs.
"""

import os
import sys
import time

from corral.cli.command import TEAMS, Command, Invocation, Option
from corral.cli.output import BLUE, CYAN, DIM, GREEN, MAGENTA, RED, YELLOW, paint, plain, remark, takes_colour, width_of
from corral.cli.table import GAP, lines, padded, shortened_from_left, shown_width, widths
from corral.client.wire import DaemonAbsentError, request, target
from corral.domain.errors import NotFoundError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from corral.places import Places

HEADINGS = (
    *("TEAM", "AGENT", "USER", "KIND", "STATE", "ACTIVITY", "EVIDENCE", "PID", "PROCS", "UP", "RESTARTS"),
    *("SESSION", "CONTAINMENT", "ACCESS", "WORKSPACE"),
)
_USER = HEADINGS.index("USER")
_KIND = HEADINGS.index("KIND")
_EVIDENCE = HEADINGS.index("EVIDENCE")
_SESSION = HEADINGS.index("SESSION")
_ACCESS = HEADINGS.index("ACCESS")
_PROCESSES = HEADINGS.index("PROCS")
_WORKSPACE = HEADINGS.index("WORKSPACE")
#: What gives way on a narrow terminal, in this order, once the workspace is as short as it can be.
_GIVES_WAY = (
    "WORKSPACE",
    "RESTARTS",
    "PID",
    "UP",
    "CONTAINMENT",
    "PROCS",
    "KIND",
    "SESSION",
    "ACCESS",
    "EVIDENCE",
    "USER",
    "ACTIVITY",
)
_SHORTEST_WORKSPACE = 10

_COLOURS = {
    "pending": DIM,
    "starting": BLUE,
    "running": GREEN,
    "stopping": CYAN,
    "stopped": DIM,
    "backoff": YELLOW,
    "failed": RED,
    "unknown": MAGENTA,
}
#: Nothing of these runs: there is no time that they are up.
_NOT_UP = ("pending", "stopped", "failed", "backoff")
#: Of one that is stopped the daemon tells a reason only if Corral itself stopped it.
_NEEDS_A_REASON = ("pending", "stopped", "failed", "backoff", "unknown")


class Agent:
    """One line of the daemon's answer; the order is part of the contract with it."""

    __slots__ = (
        "about",
        "access",
        "access_why",
        "activity",
        "agent",
        "containment",
        "containment_why",
        "evidence",
        "kind",
        "last_words",
        "new",
        "notices",
        "pid",
        "processes",
        "ready",
        "reason",
        "restarts",
        "resumed",
        "session",
        "since",
        "state",
        "team",
        "team_notices",
        "user",
        "workspace",
    )

    def __init__(self, line: str) -> None:
        (
            self.team,
            self.agent,
            self.state,
            self.activity,
            self.pid,
            since,
            self.restarts,
            self.containment,
            self.workspace,
            self.reason,
            self.containment_why,
            self.processes,
            self.about,
            self.evidence,
            notices,
            team_notices,
            last_words,
            self.kind,
            self.ready,
            self.session,
            self.resumed,
            self.access,
            self.access_why,
            self.user,
            self.new,
        ) = line.split("\t")
        self.since = float(since) if since else None
        self.notices = _parts(notices)
        self.team_notices = _parts(team_notices)
        self.last_words = _parts(last_words)


def run(invocation: Invocation) -> int:
    places = invocation.places
    team = invocation.text("team")
    as_json, quiet = invocation.json, invocation.flag("quiet")
    accept = "application/json" if as_json else "text/tab-separated-values"
    try:
        response = request(places, "GET", target("/v1/agents", [("team", team)]), headers=(("Accept", accept),))
    except DaemonAbsentError:
        return _nothing(places, team, as_json, quiet)
    if response.status >= 400:
        from corral.client.answers import raise_refusal

        raise_refusal(response)
    if as_json:
        from corral.cli.output import shown_json, write_bytes

        write_bytes(shown_json(response.body.rstrip(b"\n")) + b"\n")
        return 0
    try:
        agents = [Agent(line) for line in response.body.decode("utf-8").split("\n") if line]
    except ValueError:
        raise UnavailableError(
            "the daemon's list of agents cannot be read; it may be of another version",
            "corral daemon stop, then corral daemon start: the agents stay up",
        ) from None
    if invocation.flag("teams"):
        sys.stdout.write("".join(name + "\n" for name in dict.fromkeys(agent.team for agent in agents)))
    elif invocation.flag("full"):
        sys.stdout.write("".join(f"{agent.team}/{agent.agent}\n" for agent in agents))
    elif invocation.flag("short"):
        sys.stdout.write("".join(name + "\n" for name in _short_names(agents)))
    elif quiet:
        sys.stdout.write("".join(name + "\n" for name in _names(agents)))
    elif agents:
        sys.stdout.write(_table(agents, wide=invocation.flag("wide")))
        waiting = response.headers.get("x-corral-waiting", "0")
        if waiting != "0" and width_of(sys.stdout) is not None:  # for people; programs have corral inbox --json
            who = "1 agent waits" if waiting == "1" else f"{waiting} agents wait"
            sys.stdout.write(paint(f"{who} for you: corral inbox", YELLOW, takes_colour(sys.stdout)) + "\n")
    else:
        _say_nothing_is_up(places, "no team is up")
    return 0


def _parts(field: str) -> "list[str]":
    return field.split("\x1e") if field else []


def _nothing(places: "Places", team: "str | None", as_json: bool, quiet: bool) -> int:
    from corral.client.absence import error_of_absence

    error = error_of_absence(places)
    if not isinstance(error, NotFoundError):
        raise error
    if team is not None:
        raise NotFoundError(f"there is no team {team}: {error.message}", error.remedy)
    if as_json:
        sys.stdout.write("[]\n")
    elif not quiet:
        _say_nothing_is_up(places, error.message)
    return 0


def _say_nothing_is_up(places: "Places", words: str) -> None:
    remark(words)
    if places.of_host:
        from corral.cli.beside import remark_on_own_instance

        remark_on_own_instance(places)
        return
    from corral.client.absence import shared_server

    if there := shared_server():
        remark(there)


def _names(agents: "Sequence[Agent]") -> "list[str]":
    """Names that every command takes, also when one more team comes up: `team/agent` where there are several teams."""
    if len({agent.team for agent in agents}) == 1:
        return [agent.agent for agent in agents]
    return [f"{agent.team}/{agent.agent}" for agent in agents]


def _short_names(agents: "Sequence[Agent]") -> "list[str]":
    """The least that has to be typed: the bare name, or `team/agent` where two teams have it."""
    count: dict[str, int] = {}
    for agent in agents:
        count[agent.agent] = count.get(agent.agent, 0) + 1
    return [agent.agent if count[agent.agent] == 1 else f"{agent.team}/{agent.agent}" for agent in agents]


def _table(agents: "Sequence[Agent]", *, wide: bool) -> str:
    colour = takes_colour(sys.stdout)
    now = time.time()
    home = os.environ.get("HOME", "").rstrip("/")
    rows = [HEADINGS, *(_row(agent, now, home) for agent in agents)]
    width = width_of(sys.stdout)
    columns = _fitting(rows, width, wide=wide)
    shown = [[row[at] for at in columns] for row in rows]
    text = _coloured(shown) if colour else lines(shown)
    for agent in agents:
        if agent.reason and agent.state in _NEEDS_A_REASON:
            what = paint(agent.state, _COLOURS[agent.state], colour)
            text.append(f"{agent.team}/{agent.agent} {what}: {plain(agent.reason)}")
            if agent.state == "failed":
                text.extend(paint(f"  {plain(line)}", DIM, colour) for line in agent.last_words)
        text.extend(f"{agent.team}/{agent.agent}: {plain(notice)}" for notice in agent.notices)
    text.extend(paint(line, DIM, colour) for line in _how_to_start(agents))
    about_teams = {(agent.team, notice): None for agent in agents for notice in agent.team_notices}
    text.extend(paint(f"{team}: {plain(notice)}", YELLOW, colour) for team, notice in about_teams)
    if width is not None:  # for people; programs have it in --json
        text.extend(paint(line, DIM, colour) for line in _why_no_better(agents))
    if wide:
        seen = {agent.access_why: None for agent in agents if agent.access_why}
        text.extend(paint(f"access is seen to no better: {plain(why)}", DIM, colour) for why in seen)
    return "\n".join(text) + "\n"


def _how_to_start(agents: "Sequence[Agent]") -> "list[str]":
    """How those are started again that failed, a line for each team: the reasons do not say."""
    failed: dict[str, list[str]] = {}
    new: dict[str, list[str]] = {}
    for agent in agents:
        if agent.state == "failed":
            (new if agent.new else failed).setdefault(agent.team, []).append(f"{agent.team}/{agent.agent}")
    return [
        *(
            f"corral restart {names[0]} starts it again"
            if len(names) == 1
            else f"corral restart -t {team} AGENT… starts them again"
            for team, names in failed.items()
        ),
        # What such a one is started with, only `up` has.
        *(f"corral up, for the file of {team}, starts {' and '.join(names)}" for team, names in new.items()),
    ]


def _why_no_better(agents: "Sequence[Agent]") -> "list[str]":
    """Why agents are not contained better, a line for each reason."""
    levels = {(agent.containment, agent.containment_why): None for agent in agents if agent.containment_why}
    return [f"containment is {level}, not better: {plain(why)}" for level, why in levels]


def _row(agent: Agent, now: float, home: str) -> "list[str]":
    workspace = agent.workspace
    if home and (workspace == home or workspace.startswith(home + "/")):
        workspace = "~" + workspace[len(home) :]
    return [
        agent.team,
        agent.agent,
        plain(agent.user) or "-",
        agent.kind,
        agent.state,
        _does(agent),
        plain(agent.evidence) or "-",
        agent.pid or "-",
        agent.processes if agent.processes not in ("", "0") else "-",
        "-" if agent.since is None or agent.state in _NOT_UP else age(now - agent.since),
        agent.restarts or "0",
        _session(agent),
        agent.containment or "-",
        agent.access or "-",
        plain(workspace) or "-",
    ]


def _session(agent: Agent) -> str:
    return f"{plain(agent.session)} ({agent.resumed})" if agent.session and agent.resumed else agent.session or "-"


def _does(agent: Agent) -> str:
    if agent.kind == "service" and agent.state == "running" and agent.activity != "paused":
        return agent.ready or "not ready"
    if agent.activity in ("", "unknown"):
        return "-"
    return f"{agent.activity} ({plain(agent.about)})" if agent.about else agent.activity


def _fitting(rows: "list[Sequence[str]]", width: "int | None", *, wide: bool) -> "list[int]":
    """The columns to show within `width`; the workspaces in `rows` are shortened to the room that is left."""
    columns = list(range(len(HEADINGS)))
    if not wide:
        columns.remove(_EVIDENCE)
        columns.remove(_SESSION)
        columns.remove(_ACCESS)
    if all(row[_USER] == "-" for row in rows[1:]):
        # One person's own instance: all are theirs.
        columns.remove(_USER)
    if all(row[_KIND] == "agent" for row in rows[1:]):
        columns.remove(_KIND)
    if all(row[_PROCESSES] == "-" for row in rows[1:]):
        # Most teams never run a command through us.
        columns.remove(_PROCESSES)
    if width is None:
        return columns
    measures = widths(rows)
    others = sum(measures[at] for at in columns[:-1]) + len(GAP) * (len(columns) - 1)
    room = width - others
    if room >= _SHORTEST_WORKSPACE:
        rows[:] = [[*row[:_WORKSPACE], shortened_from_left(row[_WORKSPACE], room)] for row in rows]
        return columns
    for heading in _GIVES_WAY:
        if HEADINGS.index(heading) not in columns:
            continue
        columns.remove(HEADINGS.index(heading))
        if sum(measures[at] for at in columns) + len(GAP) * (len(columns) - 1) <= width:
            break
    return columns


def _coloured(rows: "list[list[str]]") -> "list[str]":
    measures, at = widths(rows), rows[0].index("STATE")
    text = [paint(GAP.join(map(padded, rows[0], measures)).rstrip(), DIM, True)]
    for row in rows[1:]:
        cells = [padded(cell, measure) for cell, measure in zip(row[:-1], measures, strict=False)] + [row[-1]]
        spaces = " " * (measures[at] - shown_width(row[at])) if len(row) > at + 1 else ""
        cells[at] = paint(row[at], _COLOURS.get(row[at], ""), True) + spaces
        text.append(GAP.join(cells))
    return text


def age(seconds: float) -> str:
    """A length of time in its largest fitting unit: `42s`, `90m`, `30h`, `12d`."""
    whole = max(0, int(seconds))
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= length * (2 if unit != "m" else 1):
            return f"{whole // length}{unit}"
    return f"{whole}s"


COMMAND = Command(
    "ps",
    "show the agents that are up",
    description=(
        "One line an agent: its team, its state, what it does, its process, since when it is up, how often it was\n"
        "started again, how it is contained and where it works; PROCS counts the commands that run for it by corral\n"
        "exec, if any do. An agent that waits for a person says what for: waiting (permission). --wide says how it is\n"
        "known: by a hook of the agent, by a rule of its profile that its screen fits, or by its output alone; and\n"
        "what sees to what it may touch: the kernel, its commits, or merges.\n"
        "A service is ready, or not ready yet; KIND is there if a team has one. On a shared server USER says whose\n"
        "each is: the person, behind the user that runs it if that is another.\n"
        "What corral pause made stand still is running, and its activity is paused. The reason\n"
        "stands below for agents that are pending, failed (with their last words), wait to be started again, were\n"
        "stopped by Corral itself or cannot be seen; then what else a person should know: that one is stuck,\n"
        "unhealthy or about to be stopped, that a team is left alone; on a terminal also why they are not contained\n"
        "better. Never starts anything: with nothing up the list is empty."
    ),
    examples=(
        ("corral ps", "all agents of all teams"),
        ("corral ps -t shop", "the agents of one team"),
        (
            "corral ps --wide",
            "also how it is known what each agent does, its conversation, and what sees to what it may touch",
        ),
        ("corral ps --json", "the same for programs, with user, host, command and exit code"),
        ("for a in $(corral ps -q); do corral logs --screen $a; done", "the names only, one a line"),
    ),
    options=(
        Option("team", "t", value="TEAM", summary="only the agents of this team", offers=TEAMS),
        Option(
            "quiet",
            "q",
            summary="names only, one a line, as TEAM/AGENT if several teams are up; with --json it changes nothing",
        ),
        Option(
            "wide",
            "w",
            summary="also say how it is known what an agent does, its conversation, and what limits what it touches",
        ),
        Option("short", summary="names only, as short as they are clear, for completion", hidden=True),
        Option("full", summary="names as TEAM/AGENT only, for completion", hidden=True),
        Option("teams", summary="names of teams only, for the completion of --team", hidden=True),
    ),
    run=run,
)
