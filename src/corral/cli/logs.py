"""`corral logs`: what agents printed."""

import sys

from corral.cli.command import AGENTS, COUNT, MOMENT, TEAM, Argument, Command, Invocation, Option
from corral.cli.foreign import Foreign
from corral.cli.log_lines import CleanLines, Lines, RawPieces
from corral.cli.output import json_line, paint, remark, say, takes_colour, write_bytes, write_json
from corral.cli.progress import strings
from corral.cli.targets import here, several_agents, whereabouts
from corral.cli.values import ALL
from corral.client.answers import Record, ask, records, stream_was_cut
from corral.client.wire import target
from corral.domain.errors import WrongUseError

DEFAULT_LINES = 100


def run(invocation: Invocation) -> int:
    if invocation.flag("screen"):
        return _screens(invocation)
    team, agents = several_agents(invocation)
    follow, since, wanted = invocation.flag("follow"), invocation.number("since"), invocation.integer("lines")
    if wanted is None and since is None:
        wanted = DEFAULT_LINES
    limit = None if wanted in (None, ALL) else wanted
    parameters = [
        *whereabouts(team),
        *(("agent", agent) for agent in agents),
        ("lines", None if limit is None else str(limit)),
        ("since", None if since is None else repr(since)),
        ("follow", "1" if follow else "0"),
    ]
    lines: Lines = RawPieces(limit) if invocation.flag("raw") else CleanLines(limit)
    write = _Writer(as_json=invocation.json, raw=invocation.flag("raw"), prefixed=len(agents) != 1)
    live = False
    for record in records(invocation.places, "GET", target("/v1/logs", parameters)):
        if record.get("caught_up") is True:
            live = follow
            write(lines.backlog())
            if live:
                _point_at_screens(invocation, lines)
        elif "text" in record:
            write(lines.take(record, held_back=not live))
    lines.finish()
    write(lines.backlog())
    if follow:
        raise stream_was_cut(invocation.places)
    _point_at_screens(invocation, lines)
    return 0


def _point_at_screens(invocation: Invocation, lines: Lines) -> None:
    """Tell a person who reads fragments of pictures where the picture is. Nothing that came is kept back for it."""
    if invocation.json or not sys.stderr.isatty():
        return
    for agent in lines.repainting():
        remark(f"{agent} repaints its screen: corral logs --screen {agent} shows what is on it now")


class _Writer:
    """Writes lines as text, with the agent before each where there may be several, or as JSON."""

    def __init__(self, *, as_json: bool, raw: bool, prefixed: bool) -> None:
        self._json = as_json
        self._raw = raw
        self._prefixed = prefixed
        self._colour = takes_colour(sys.stdout)
        self._tints: dict[str, str] = {}
        #: By agent: what one has not finished is not another's.
        self._streams: dict[tuple[object, object], Foreign] = {}

    def __call__(self, entries: list[Record]) -> None:
        if not entries:
            return
        if self._json:
            write_bytes(b"".join(map(json_line, entries)))
        elif self._raw:
            for entry in entries:
                self._foreign(entry)
        else:
            for entry in entries:
                say(self._prefix(str(entry["agent"])) + str(entry["text"]))
            sys.stdout.flush()

    def _foreign(self, entry: Record) -> None:
        whose = entry.get("team"), entry.get("agent")
        write = self._streams.get(whose) or self._streams.setdefault(whose, Foreign())
        write(str(entry["text"]).encode("utf-8", "replace"))

    def _prefix(self, agent: str) -> str:
        if not self._prefixed:
            return ""
        palette = ("36", "33", "32", "35", "34", "96", "93", "92", "95", "94")
        tint = self._tints.setdefault(agent, palette[len(self._tints) % len(palette)])
        return paint(f"{agent} | ", tint, self._colour)


def _screens(invocation: Invocation) -> int:
    team, agents = several_agents(invocation)
    if not agents:
        raise WrongUseError("logs --screen needs an AGENT", "corral ps shows them")
    if invocation.flag("follow"):
        raise WrongUseError("a screen cannot be followed", "corral attach -r watches it; logs -f follows the output")
    for agent in agents:
        parameters = [("team", team), ("cwd", here()), ("agent", agent)]
        answer = ask(invocation.places, "GET", target("/v1/screen", parameters))
        if invocation.json:
            write_json(answer)
            continue
        if len(agents) > 1:
            say(f"── {answer.get('team')}/{answer.get('agent')} ──")
        for line in strings(answer.get("lines")):
            Foreign()(line.encode("utf-8", "replace") + b"\n")
    return 0


COMMAND = Command(
    "logs",
    "read what agents printed",
    description=(
        "The output of the agents' terminals as text: colours and cursor moves are taken out, of a progress bar\n"
        "the last state is left. Without AGENT it is the whole team, a line prefixed by the agent that printed it.\n"
        "For programs that paint the whole screen, --screen shows it as it is now. With --json: JSON lines with\n"
        "team, agent, time (unix seconds) and text. Values that env in corral.toml gives an agent may be secrets, and\n"
        "are ******** there, also with --raw; very short ones are not. A terminal gets of --raw and --screen only\n"
        "what shows something: nothing that would have it answer, fill the clipboard or rename a window."
    ),
    examples=(
        ("corral logs builder-1", f"its last {DEFAULT_LINES} lines"),
        ("corral logs -f", "follow the whole team"),
        ("corral logs --since 10m builder-1 reviewer", "what two agents printed in the last ten minutes"),
        ("corral logs -n all --raw builder-1 > session.raw", "everything that is kept, as it came"),
        ("corral logs --screen builder-1", "what its terminal shows now"),
    ),
    arguments=(
        Argument(
            "AGENT",
            summary="the agents, as AGENT or TEAM/AGENT; none means the whole team",
            required=False,
            repeated=True,
            offers=AGENTS,
        ),
    ),
    options=(
        Option("follow", "f", summary="go on with what comes, until ctrl-c"),
        Option("since", value="WHEN", kind=MOMENT, summary="from 10m or 2h ago on, or from a time: 2025-11-30T14:05"),
        Option(
            "lines",
            "n",
            value="N",
            kind=COUNT,
            summary=f"the last N lines of each agent, or all (default {DEFAULT_LINES}; with --since all)",
        ),
        Option("raw", summary="the output as it came, escape sequences and all"),
        Option("screen", summary="the screen of the terminal as it is now"),
        TEAM,
    ),
    run=run,
)
