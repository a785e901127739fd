"""`corral broadcast`: type a message into the terminals of a whole team."""

from corral.cli.command import TEAM, Argument, Command, Invocation, Option
from corral.cli.output import say, write_json
from corral.cli.send import STATES, TIMEOUT, WAIT, patience, shown, waiting
from corral.cli.send_text import message_of
from corral.cli.targets import whereabouts
from corral.client.answers import ask
from corral.client.wire import target
from corral.domain.errors import CorralError, UnavailableError


def run(invocation: Invocation) -> int:
    message = message_of(invocation.words("TEXT"))
    parameters = [
        *whereabouts(invocation.text("team")),
        ("role", invocation.text("role")),
        *waiting(invocation),
    ]
    answer = ask(invocation.places, "POST", target("/v1/broadcast", parameters), message, seconds=patience(invocation))
    listed = answer.get("receipts")
    receipts = [receipt for receipt in listed if isinstance(receipt, dict)] if isinstance(listed, list) else []
    if invocation.json:
        write_json(answer)
    else:
        for receipt in receipts:
            say(shown(receipt))
    wanted = STATES.index(invocation.text("wait") or "submitted")
    states = [str(receipt.get("state")) for receipt in receipts]
    if "failed" in states:
        return CorralError.exit_code
    late = any(state not in STATES or STATES.index(state) < wanted for state in states)
    return UnavailableError.exit_code if late else 0


COMMAND = Command(
    "broadcast",
    "type a message into the terminals of a whole team",
    description=(
        "Sends the text to every agent of the team, as corral send does, all at once and with a receipt each.\n"
        "Services get none, and neither does the agent that sends. Without TEXT, or with -, the message is standard\n"
        "input. Exit code 1: some did not get it; 6: some have not got it yet, and it stays in line for them."
    ),
    examples=(
        ('corral broadcast "commit what you have, then stop"', "every agent of this team"),
        ("corral broadcast --role builder < task.md", "only those of one role"),
        ("corral broadcast --team shop --json hello", "the receipts for a script"),
    ),
    arguments=(
        Argument("TEXT", summary="the message; - or nothing reads standard input", required=False, repeated=True),
    ),
    options=(
        Option("role", value="ROLE", summary="only the agents that this table of corral.toml declares"),
        WAIT,
        TIMEOUT,
        TEAM,
    ),
    run=run,
)
