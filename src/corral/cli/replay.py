"""`corral replay`: play what an agent's terminal showed, or save it as an asciicast."""

import os
import time

from corral.cli.amounts import size as shown_size
from corral.cli.command import AGENTS, FILES, MOMENT, NUMBER, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import plain, remark, say, shown_json, write_bytes, write_json
from corral.cli.ps import age
from corral.cli.table import lines
from corral.cli.targets import absolute, here, one_agent
from corral.client.absence import error_of_absence
from corral.client.answers import Record, ask_for_list, raise_refusal
from corral.client.wire import DaemonAbsentError, path_word, stream, target
from corral.domain import asciicast
from corral.domain.asciicast import Event
from corral.domain.errors import CorralError, NotFoundError, WrongUseError

#: How much is taken into memory at once; a recording that is longer is played in parts.
_MOST_BYTES = 128 << 20


def run(invocation: Invocation) -> int:
    team, agent = one_agent(invocation)
    whose: list[tuple[str, str | None]] = [("team", team), ("cwd", here()), ("agent", agent)]
    listed = ask_for_list(invocation.places, "GET", target("/v1/recordings", whose))
    if invocation.json or invocation.flag("list"):
        return _listed(invocation, listed, agent)
    if not listed:
        raise NotFoundError(
            f"there is no recording of {agent}",
            "one without a terminal has none; on a shared server others are recorded, unless the file says not to"
            if invocation.places.of_host
            else "add [recording] to its corral.toml and run corral up: from then on its terminal is recorded",
        )
    at, export = invocation.number("at"), invocation.text("export")
    if at is not None and at > time.time():
        raise WrongUseError("--at is in the future", "corral replay --list AGENT shows what there is")
    chosen = _chosen(listed, at)
    header, events = _loaded(invocation, whose, chosen)
    began = _unix(chosen[0].get("began"))
    start = max(0.0, at - began) if at is not None else 0.0
    if start - (end := _end(events)) >= 1:
        remark(f"corral: what was recorded ends {age(start - end)} before that; this is how it ends")
    if export is not None:
        return _exported(*_from(start, header, events, began), export)
    if not (os.isatty(0) and os.isatty(1)):
        raise WrongUseError("replay needs a terminal, and standard input or output is none", "--export FILE saves it")
    from corral.cli.replay_player import play

    play(
        events, title=f"{chosen[0].get('team')}/{agent}", began=began, at=start, speed=invocation.number("speed") or 1.0
    )
    return 0


def _listed(invocation: Invocation, listed: list[Record], agent: str) -> int:
    if invocation.json:
        write_json(listed)
        return 0
    if not listed:
        say(f"there is no recording of {agent}")
        return 0
    rows = [["RECORDING", "BEGAN", "LENGTH", "SIZE"]]
    for one in listed:
        began, ended = _unix(one.get("began")), _unix(one.get("ended"))
        rows.append(
            [str(one.get("recording")), plain(str(one.get("began"))), age(ended - began), shown_size(one.get("bytes"))]
        )
    for line in lines(rows):
        say(line)
    return 0


def _chosen(listed: list[Record], at: float | None) -> list[Record]:
    """The recordings that are played: from the one that was going on at that time, or the last run's.

    Those behind it that are of the same run go on where it ends.
    """
    if at is None:
        run_of = str(listed[-1].get("recording")).rpartition("-")[2]
        return [one for one in listed if str(one.get("recording")).endswith(run_of)]
    before = [one for one in listed if _unix(one.get("began")) <= at]
    first = before[-1] if before else listed[0]
    run_of = str(first.get("recording")).rpartition("-")[2]
    return [one for one in listed[listed.index(first) :] if str(one.get("recording")).endswith(run_of)]


def _loaded(
    invocation: Invocation, whose: list[tuple[str, str | None]], chosen: list[Record]
) -> "tuple[Record, list[Event]]":
    """The header of the first, and the events of all, counted from its beginning."""
    header: Record = {}
    events: list[Event] = []
    taken = 0
    began = _unix(chosen[0].get("began"))
    for one in chosen:
        offset = max(0.0, _unix(one.get("began")) - began)
        path = f"/v1/recordings/{path_word(str(one.get('recording')))}"
        try:
            response, found = stream(invocation.places, "GET", target(path, whose))
        except DaemonAbsentError:
            raise error_of_absence(invocation.places) from None
        raise_refusal(response)
        try:
            for line in found:
                taken += len(line)
                if not header and (said := asciicast.parse_header(line)) is not None:
                    header = said
                elif (event := asciicast.parse(line)) is not None:
                    events.append((event[0] + offset, event[1], event[2]))
        except CorralError as error:
            if "cut off" not in error.message:
                raise
            remark(f"corral: the end of {one.get('recording')} is not whole")
        if taken > _MOST_BYTES:
            remark("corral: it is longer than can be played at once; --at TIME begins later")
            break
    return header, events


def _end(events: "list[Event]") -> float:
    """The last that happened, counted from the beginning."""
    return max((at for at, _, _ in events), default=0.0)


def _from(start: float, header: Record, events: "list[Event]", began: float) -> "tuple[Record, list[Event]]":
    """The recording from so many seconds on. What was shown before is painted at once: it is what the rest is about."""
    if not start:
        return header, events
    return {**header, "timestamp": int(began + start)}, [
        (max(0.0, at - start), kind, text) for at, kind, text in events
    ]


def _exported(header: Record, events: "list[Event]", file: str) -> int:
    import json

    content = json.dumps(header, ensure_ascii=False).encode() + b"\n"
    content += b"".join(asciicast.event(*event) for event in events)
    if file == "-":
        write_bytes(shown_json(content))
        return 0
    path = absolute(file)
    again = ", written over what was there" if os.path.lexists(path) else ""
    try:
        # Only for whoever asked: it shows what an agent saw.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as out:
            out.write(content)
    except OSError as error:
        raise CorralError(f"{path} cannot be written: {error.strerror}", "choose another file") from None
    say(f"{path}: {len(events)} events{again}")
    return 0


def _unix(moment: object) -> float:
    from datetime import datetime

    return datetime.fromisoformat(str(moment)).timestamp()


COMMAND = Command(
    "replay",
    "play what an agent's terminal showed",
    description=(
        "Plays the recording of the agent's last run, or with --at the one of that time, in this terminal. Space\n"
        "pauses, the arrows left and right go back and on by 5 seconds, up and down by a minute, + and - change the\n"
        "speed, 0 begins anew, q leaves. Pauses in which nothing happened are shortened. Terminals are recorded if\n"
        "the team's file has [recording]; on a shared server also if it says nothing. What was typed is not recorded,\n"
        "and values of env in the file are masked.\n"
        "With --json, the recordings that there are."
    ),
    examples=(
        ("corral replay builder-1", "its last run, from the beginning"),
        ("corral replay builder-1 --at 2h --speed 4", "from two hours ago on, four times as fast"),
        ("corral replay builder-1 --at 90m --export bug.cast", "save it for asciinema"),
        ("corral replay builder-1 --list", "what is there?"),
    ),
    arguments=(Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", offers=AGENTS),),
    options=(
        Option("at", value="TIME", kind=MOMENT, summary="begin at that time: 10m, 2h (ago), 14:05, or an ISO time"),
        Option("speed", "s", value="N", kind=NUMBER, summary="so many times as fast (default 1)"),
        Option(
            "export",
            "o",
            value="FILE",
            summary="write an asciicast v2 file instead; - is standard output",
            offers=FILES,
        ),
        Option("list", "l", summary="list the recordings"),
        TEAM,
    ),
    run=run,
)
