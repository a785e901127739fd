"""`corral events`: the journal."""

import sys
from collections.abc import Iterator

from corral.cli.command import AGENTS, COUNT, INTEGER, MOMENT, TEAM, Command, Invocation, Option
from corral.cli.output import DIM, RED, json_line, paint, plain, remark, say, takes_colour, write_bytes
from corral.cli.targets import agent_and_team, here
from corral.cli.values import ALL
from corral.client.absence import has_history, how_to_start, nothing_is_up
from corral.client.answers import Record, records, stream_was_cut
from corral.client.wire import target
from corral.domain.errors import NotFoundError, UnavailableError
from corral.places import Places

DEFAULT_LINES = 100
_GOOD = ("", "ok", "done", "success")
#: A hash is told apart by its beginning; so many digits have SHA-1, as git has it, and SHA-256.
_SHORT_HASH, _HASHES, _HEX = 12, (40, 64), frozenset("0123456789abcdef")


def run(invocation: Invocation) -> int:
    team, agent = agent_and_team(invocation.text("team"), invocation.text("agent"))
    patterns = invocation.texts("event")
    since, after, wanted = invocation.number("since"), invocation.integer("after"), invocation.integer("lines")
    if wanted is None and since is None and after is None:
        wanted = DEFAULT_LINES
    parameters = [
        ("team", team),
        ("cwd", here()),
        ("agent", agent),
        *(("event", pattern) for pattern in patterns),
        ("after", None if after is None else str(after)),
        ("since", None if since is None else repr(since)),
        ("lines", None if wanted is None or wanted == ALL else str(wanted)),
        ("follow", "1" if invocation.flag("follow") else "0"),
    ]
    colour, told = takes_colour(sys.stdout), False
    of = "/".join(name for name in (team, agent) if name)
    for record in _journal(invocation.places, target("/v1/events", parameters), of):
        if "awaited" in record and not invocation.json:
            remark(f"nothing has happened to {record['awaited']} yet; waiting for it")
        if "event" not in record:
            continue
        told = True
        if invocation.json:
            write_bytes(json_line(record))
        else:
            say(line(record, colour=colour))
            sys.stdout.flush()
    if invocation.flag("follow") and has_history(invocation.places):
        raise stream_was_cut(invocation.places)
    if patterns and not (told or invocation.json):
        remark(f"no event is named like {' or '.join(patterns)} here; corral events without --event shows their names")
    return 0


def _journal(places: Places, request: str, of: str) -> Iterator[Record]:
    """The entries of the journal, `of` some team or agent. An instance that was never used has none at all."""
    try:
        yield from records(places, "GET", request)
    except NotFoundError as error:
        if not has_history(places):
            if of:
                raise NotFoundError(f"there is no journal yet, so nothing of {of}", error.remedy) from None
            return
        if nothing_is_up(places):
            raise UnavailableError("the daemon reads the journal, and is not running", how_to_start(places)) from error
        raise


def line(event: Record, *, colour: bool = False) -> str:
    """One event as one line: when, about whom, what, its outcome if it is not a good one, what else, by whom."""
    about = "/".join(str(event[key]) for key in ("team", "agent") if event.get(key))
    outcome = str(event.get("outcome") or "")
    parts = [
        paint(_local_time(str(event.get("time", ""))), DIM, colour),
        plain(about) or "-",
        plain(str(event.get("event"))),
    ]
    if outcome not in _GOOD:
        parts.append(paint(outcome, RED, colour))
    who = event.get("who")
    person = str(who.get("agent") or who.get("user") or who.get("uid")) if isinstance(who, dict) else ""
    data = event.get("data")
    if isinstance(data, dict):
        parts.extend(
            f"{name}={_shown(value)}"
            for name, value in data.items()
            if value not in (None, "") and (name, value) != ("by", person)
        )
    if event.get("hidden"):
        parts.append(paint("(hidden)", DIM, colour))
    if person:
        parts.append(paint(f"by {plain(person)}", DIM, colour))
    return "  ".join(parts)


def _local_time(text: str) -> str:
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return text


def _shown(value: object) -> str:
    if isinstance(value, str) and len(value) in _HASHES and set(value) <= _HEX:
        return f"{value[:_SHORT_HASH]}…"
    text = value if isinstance(value, str) else json_line(value).decode().rstrip("\n")
    return text if text.isprintable() and " " not in text and text else repr(text)


COMMAND = Command(
    "events",
    "read the journal: everything that happened",
    description=(
        "One line an event: when, which team and agent, what, and who asked for it. The journal has everything\n"
        "that was done and everything that was seen, in order. Of a long hash the beginning is shown. With --json:\n"
        "JSON lines with seq, time, team, agent, event, who, outcome and data, all of it whole. A team or an agent\n"
        "that the journal has never had is an error; with -f it is waited for."
    ),
    examples=(
        ("corral events", f"the last {DEFAULT_LINES}"),
        ("corral events -f", "and whatever happens from now on"),
        ("corral events --agent builder-1 --since 1h", "what happened to one agent in the last hour"),
        ("corral events --event 'agent.*' --event inbox.answered", "how agents came and went, and who answered them"),
        ("corral events --json --after 4711", "for programs that go on where they left off"),
    ),
    options=(
        Option("follow", "f", summary="go on with what happens, until ctrl-c"),
        Option(
            "lines",
            "n",
            value="N",
            kind=COUNT,
            summary=f"the last N events, or all (default {DEFAULT_LINES}; with --since or --after all)",
        ),
        Option("since", value="WHEN", kind=MOMENT, summary="from 10m or 2h ago on, or from a time: 2025-11-30T14:05"),
        Option("after", value="SEQ", kind=INTEGER, summary="only events after this number"),
        Option("agent", value="AGENT", summary="only events of this agent, AGENT or TEAM/AGENT", offers=AGENTS),
        Option(
            "event",
            value="PATTERN",
            summary="only events of this name, in which * stands for any letters: 'agent.*', '*.failed'",
            repeatable=True,
        ),
        TEAM,
    ),
    run=run,
)
