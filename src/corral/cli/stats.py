"""`corral stats`: what agents use of their host."""

import sys
from collections.abc import Iterator

from corral.cli.command import AGENTS, SECONDS, TEAMS, Argument, Command, Invocation, Option
from corral.cli.output import remark, write_json
from corral.cli.stats_table import Screen, table
from corral.cli.targets import here, several_agents
from corral.cli.unknown import remark_on_unknown
from corral.client.absence import error_of_absence
from corral.client.answers import Record, records_of_present_daemon, stream_was_cut
from corral.client.wire import DaemonAbsentError, target
from corral.domain.errors import NotFoundError
from corral.places import Places

DEFAULT_SECONDS = 2.0


def run(invocation: Invocation) -> int:
    team, agents = several_agents(invocation)
    every = invocation.number("every")
    follow = invocation.flag("follow") or every is not None
    parameters = [
        ("team", team),
        ("cwd", here()),
        *(("agent", agent) for agent in agents),
        ("follow", "1" if follow else "0"),
        ("every", repr(DEFAULT_SECONDS if every is None else every) if follow else None),
    ]
    of = agents[0] if agents else team
    looks = _looks(invocation.places, target("/v1/stats", parameters), of)
    if invocation.json:
        for look in looks:
            write_json(look)
    elif follow:
        _follow(looks)
    else:
        for look in looks:
            _show(look)
    return 0


def _looks(places: Places, request: str, of: str | None) -> Iterator[list[Record]]:
    """What the daemon sees, once or again and again. An instance at rest has nothing that could be seen."""
    followed = "follow=1" in request
    try:
        for record in records_of_present_daemon(places, "GET", request):
            stats = record.get("stats")
            if isinstance(stats, list):
                yield [stat for stat in stats if isinstance(stat, dict)]
    except DaemonAbsentError:
        error = error_of_absence(places)
        if not isinstance(error, NotFoundError):
            raise error from None
        if of is not None:
            raise NotFoundError(f"there is no {of}: {error.message}", error.remedy) from None
        yield []
        return
    if followed:
        raise stream_was_cut(places)


def _show(look: list[Record]) -> None:
    if look:
        sys.stdout.write("".join(line + "\n" for line in table(look)))
        sys.stdout.flush()
        remark_on_unknown(look, "unknown")
    else:
        remark("no team is up")


def _follow(looks: Iterator[list[Record]]) -> None:
    screen = Screen(sys.stdout)
    try:
        for look in looks:
            screen.show(table(look) if look else ["no team is up"])
    except KeyboardInterrupt:
        screen.leave()
        raise


COMMAND = Command(
    "stats",
    "show what agents use: processor, memory, tasks",
    description=(
        "One line an agent, and one for the team as a whole: CPU% of one processor over the last moment, TIME on\n"
        "processors in all, memory now, at its peak and its limit, tasks (processes and threads) and their limit,\n"
        "the highest pressure (how much of the last ten seconds something waited for processor, memory or io), OOM\n"
        "kills, and the level of containment that the figures come from. A dash: this level, or this kernel, cannot\n"
        "tell. Without AGENT it is all teams. Never starts anything: with nothing up the list is empty."
    ),
    examples=(
        ("corral stats", "all agents of all teams, once"),
        ("corral stats -f", f"again every {DEFAULT_SECONDS:g} seconds, in place, until ctrl-c"),
        ("corral stats --every 10s builder-1", "one agent, every ten seconds"),
        ("corral stats --json -t shop", 'for programs: a list of objects; the team as a whole has agent ""'),
        ("corral stats -f --json >> use.jsonl", "a list a line, for as long as it runs"),
    ),
    arguments=(
        Argument(
            "AGENT",
            summary="the agents, as AGENT or TEAM/AGENT; none means all, and their teams",
            required=False,
            repeated=True,
            offers=AGENTS,
        ),
    ),
    options=(
        Option("follow", "f", summary="go on, until ctrl-c; on a terminal in place, with --json a list a line"),
        Option(
            "every",
            value="S",
            kind=SECONDS,
            summary=f"how often: 500ms, 10s, 1m (default {DEFAULT_SECONDS:g}s); goes on as with -f",
        ),
        Option("team", "t", value="TEAM", summary="only this team, and the agents of it", offers=TEAMS),
    ),
    run=run,
)
