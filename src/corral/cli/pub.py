"""`corral pub`: append to a topic."""

import os
import sys

from corral.cli.command import TEAM, Argument, Command, Invocation
from corral.cli.output import say, write_json
from corral.cli.team_targets import of_team
from corral.client.answers import ask
from corral.domain.errors import WrongUseError

_LARGEST = 256 << 10


def run(invocation: Invocation) -> int:
    of, topic = of_team(invocation), invocation.word("TOPIC")
    answer = ask(of.places, "POST", of.request("/v1/topics", ("topic", topic)), _data(invocation.words("TEXT")))
    if invocation.json:
        write_json(answer)
    else:
        say(f"revision {answer.get('revision')}")
    return 0


def _data(words: list[str]) -> bytes:
    """Words joined by a space, or standard input as it is."""
    if words and words != ["-"]:
        data = os.fsencode(" ".join(words))
    elif sys.stdin is None or (not words and sys.stdin.isatty()):
        raise WrongUseError("there is nothing to publish", "write it after the topic, or pipe it in")
    else:
        data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise WrongUseError(
            "that is more than 256 KiB", "put it into a file, or into a value (corral kv put), and publish its name"
        )
    return data


COMMAND = Command(
    "pub",
    "publish to a topic that others follow",
    description=(
        "Appends to the topic's log. Whoever follows it with corral sub gets every entry once and in order, also if\n"
        "it was away for a while. An answer means that it is on the disk; the revision is greater than all before.\n"
        "A topic needs no declaration. Its name has letters, digits, . _ - and /, at most 200. Words are joined by\n"
        "a space; without TEXT, or with -, standard input is published, byte for byte, up to 256 KiB."
    ),
    examples=(
        ("corral pub build/done green at 3f2a1c", "a line"),
        ("make 2>&1 | tail -n 20 | corral pub build/log", "the output of a command"),
    ),
    arguments=(
        Argument("TOPIC", summary="the topic, such as build/done"),
        Argument("TEXT", summary="what to publish; - or nothing reads standard input", required=False, repeated=True),
    ),
    options=(TEAM,),
    run=run,
)
