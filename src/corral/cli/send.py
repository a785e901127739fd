"""`corral send`: type a message into an agent's terminal."""

import os
import sys

from corral.cli.command import AGENTS, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import say, write_json
from corral.cli.targets import here, one_agent
from corral.client.answers import ask
from corral.client.wire import target
from corral.domain.errors import WrongUseError
from corral.domain.messages import MAX_BYTES, checked


def run(invocation: Invocation) -> int:
    team, agent = one_agent(invocation)
    message = _message(invocation.words("TEXT"))
    if len(message) > MAX_BYTES:
        raise WrongUseError(
            "the message is longer than 1 MiB, the most that can be sent",
            "put it into a file in the agent's workspace and send the file's name",
        )
    checked(message)
    enter = "0" if invocation.flag("no-enter") else "1"
    parameters = [("team", team), ("cwd", here()), ("agent", agent), ("enter", enter)]
    answer = ask(invocation.places, "POST", target("/v1/send", parameters), message)
    if invocation.json:
        write_json(answer)
    else:
        say(f"{answer.get('team')}/{answer.get('agent')}: {answer.get('state')} ({answer.get('bytes')} bytes)")
    return 0


def _message(words: list[str]) -> bytes:
    """The words joined by a space, or standard input as it is, up to one byte too many."""
    if words and words != ["-"]:
        # Back to the bytes that were typed: what is no UTF-8 must be refused, not repaired.
        return os.fsencode(" ".join(words))
    if not words and sys.stdin is not None and sys.stdin.isatty():
        raise WrongUseError(
            "there is no text to send", "write it after the agent, or pipe it in; - reads what you type until ctrl-d"
        )
    if sys.stdin is None:
        return b""
    return sys.stdin.buffer.read(MAX_BYTES + 1)


COMMAND = Command(
    "send",
    "type a message into an agent's terminal",
    description=(
        "Pastes the text as one message and presses Enter. Words are joined by a space. Without TEXT, or with -,\n"
        "the message is standard input, byte for byte: newlines, a trailing ; and any Unicode are kept. At most\n"
        "1 MiB of UTF-8. Text that begins with a dash goes after --."
    ),
    examples=(
        ('corral send builder-1 "fix the failing test"', "a message of one line"),
        ("corral send builder-1 < task.md", "a file"),
        ("git diff | corral send reviewer", "the output of a command"),
        ("corral send --no-enter builder-1 /compact", "type it, but leave Enter to a person"),
        ("corral send builder-1 -- --help", "text that begins with a dash"),
    ),
    arguments=(
        Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", offers=AGENTS),
        Argument("TEXT", summary="the message; - or nothing reads standard input", required=False, repeated=True),
    ),
    options=(Option("no-enter", summary="paste the text and do not press Enter"), TEAM),
    run=run,
)
