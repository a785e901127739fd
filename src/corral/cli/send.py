"""`corral send`: type a message into an agent's terminal, and tell how far it got."""

from corral.cli.command import AGENTS, SECONDS, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import say, write_json
from corral.cli.send_text import message_of
from corral.cli.targets import here, one_agent
from corral.client.answers import Record, ask
from corral.client.wire import ANSWER_SECONDS, path_word, target
from corral.domain.errors import WrongUseError

STATES = ("queued", "pasted", "submitted", "observed")
#: How long the daemon waits if nothing else is said; see `service.sends`.
_DEFAULT_WAIT = 20.0
WAIT = Option("wait", value="STATE", choices=STATES, summary="return when it got so far; submitted by default")
TIMEOUT = Option(
    "timeout", value="TIME", kind=SECONDS, summary="wait so long for that; 20s by default. It stays in line after that"
)


def run(invocation: Invocation) -> int:
    status = invocation.text("status")
    answer = _status(invocation, status) if status else _send(invocation)
    if invocation.json:
        write_json(answer)
    else:
        say(shown(answer))
    return 0


def _send(invocation: Invocation) -> Record:
    if not invocation.words("AGENT"):
        raise WrongUseError("to which agent?", "corral send AGENT TEXT; corral ps shows the agents there are")
    team, agent = one_agent(invocation)
    message = message_of(invocation.words("TEXT"))
    enter = "0" if invocation.flag("no-enter") else "1"
    force = "1" if invocation.flag("force") else None
    parameters = [("team", team), ("cwd", here()), ("agent", agent), ("enter", enter), ("force", force)]
    parameters += waiting(invocation)
    return ask(invocation.places, "POST", target("/v1/send", parameters), message, seconds=patience(invocation))


def _status(invocation: Invocation, message: str) -> Record:
    if invocation.words("AGENT"):
        raise WrongUseError(
            "--status tells of a message that was sent, and sends none", f"corral send --status {message}"
        )
    wanted = target(f"/v1/send/{path_word(message)}", waiting(invocation))
    return ask(invocation.places, "GET", wanted, seconds=patience(invocation))


def waiting(invocation: Invocation) -> list[tuple[str, str | None]]:
    """What a request says of how long it is to wait, and for what."""
    seconds = invocation.number("timeout")
    return [("wait", invocation.text("wait")), ("timeout", None if seconds is None else f"{seconds:g}")]


def patience(invocation: Invocation) -> float:
    """How long the daemon may take to answer."""
    seconds = invocation.number("timeout")
    return (_DEFAULT_WAIT if seconds is None else seconds) + ANSWER_SECONDS


def shown(receipt: Record) -> str:
    """A receipt in one line."""
    reason = receipt.get("reason")
    about = f"{receipt.get('team')}/{receipt.get('agent')}: {receipt.get('state')} ({receipt.get('bytes')} bytes)"
    return f"{about}: {reason}" if reason else about


COMMAND = Command(
    "send",
    "type a message into an agent's terminal",
    description=(
        "Pastes the text as one message and presses Enter, once nobody else is writing there and no question is\n"
        "open; until then it stands in line, also over a restart of the daemon. An agent gets one message at a time,\n"
        "behind its first prompt, and one that is pending or in back-off once it runs. Nobody speaks to a service, so\n"
        "a message to one is refused without --force.\n"
        "What a person types meanwhile waits for a moment, and is not lost. Words are joined by a space. Without\n"
        "TEXT, or with -, the message is standard input, byte for byte: newlines, a trailing ; and any Unicode are\n"
        "kept. At most 1 MiB of UTF-8. Text that begins with a dash goes after --.\n"
        "\n"
        "A message is queued, pasted, submitted (Enter was pressed) and observed (it is proved that the agent took\n"
        "it); or failed (nothing was typed), or unknown, and then it is never typed again by itself. Exit code 6: it\n"
        "did not get so far in time, and the answer says what it waits for."
    ),
    examples=(
        ('corral send builder-1 "fix the failing test"', "a message of one line"),
        ("corral send builder-1 < task.md", "a file"),
        ("git diff | corral send reviewer", "the output of a command"),
        ("corral send --no-enter builder-1 /compact", "type it, but leave Enter to a person"),
        ("corral send builder-1 -- --help", "text that begins with a dash"),
        ("corral send --wait observed --timeout 5m builder-1 next", "until it is proved that the agent took it"),
        ("corral send --wait queued builder-1 later", "put it in line and go on"),
        ("corral send --status 5f0c9a31d2e4b786", "how far a message got"),
    ),
    arguments=(
        Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", required=False, offers=AGENTS),
        Argument("TEXT", summary="the message; - or nothing reads standard input", required=False, repeated=True),
    ),
    options=(
        Option("no-enter", summary="paste the text and do not press Enter"),
        Option("force", summary="also to a service, and ahead of the agent's first prompt"),
        WAIT,
        TIMEOUT,
        Option("status", value="ID", summary="tell how far a message got, and send none"),
        TEAM,
    ),
    run=run,
)
