"""`corral sub`: follow a topic."""

import binascii
import sys

from corral.cli.command import INTEGER, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import json_line, plain, say, write_bytes
from corral.cli.team_targets import of_team
from corral.client.answers import Record, records, stream_was_cut


def run(invocation: Invocation) -> int:
    of, after = of_team(invocation), invocation.integer("from")
    parameters = (("topic", invocation.word("TOPIC")), ("after", None if after is None else str(after)))
    for record in records(of.places, "GET", of.request("/v1/topics/follow", *parameters)):
        if invocation.json:
            write_bytes(json_line(record))
            continue
        say(f"{record.get('revision')}  {plain(str(record.get('by')))}  {_text(record)}")
        sys.stdout.flush()
    raise stream_was_cut(of.places)


def _text(record: Record) -> str:
    text = str(record.get("text"))
    if record.get("encoding") == "base64":
        return f"({len(binascii.a2b_base64(text))} bytes)"
    return plain(text).rstrip("\n")


COMMAND = Command(
    "sub",
    "follow a topic",
    description=(
        "Every entry after a revision, each once and in order; without --from, those to come. The revision of the\n"
        "last one that was seen is where to go on: nothing in between is missed. A reader may be as slow as it\n"
        "likes: entries are read from the log when it is ready for them. What is not kept any more (the last\n"
        "100,000 entries of all topics and values are) is refused (exit 4), and never passed over. With --json:\n"
        "JSON lines with topic, revision, time, by and text; an entry that is no UTF-8 has encoding base64. It\n"
        "goes on until ctrl-c, and ends with exit code 6 if the daemon goes away."
    ),
    examples=(
        ("corral sub build/done", "what is published from now on"),
        ("corral sub build/done --from 120 --json", "and what was published since revision 120"),
        ("corral sub build/done --from 0", "all that is kept"),
    ),
    arguments=(Argument("TOPIC", summary="the topic, such as build/done"),),
    options=(
        Option("from", value="N", kind=INTEGER, summary="entries after this revision; 0: all that are kept"),
        TEAM,
    ),
    run=run,
)
