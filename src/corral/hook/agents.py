"""The hook of a coding agent: what the agent says goes to the daemon as it is, and its answer to the agent.

The daemon reads the agent's dialect and writes the answer in it, so that this need not load a parser: it runs before
and after every tool that an agent uses. One request is all there is, but where the answer tells the agent of messages:
once that is handed on, the daemon is told so, and then each is `injected`. Only where there is no answer does it read
what was said itself (`without_answer`).
"""

import os
import sys

from corral.client.wire import target
from corral.domain.errors import CorralError, WrongUseError
from corral.hook.asking import Asker, DaemonSilentError, answered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.places import Places

#: More than any tool of an agent is given or gives.
LARGEST = 32 << 20
#: The agent waits for this as well, and it is no great matter.
_TOLD_SECONDS = 2.0


def run(places: "Places", program: str, event: str) -> int:
    """Serve one event of a coding agent on standard input and output; the exit code that its protocol wants.

    Never raises for what the agent said or for a daemon that is not there: an agent must not be stopped by its hook in
    any other way than its protocol has.
    """
    os.environ.pop("CORRAL_URL", None)  # about files of this host, its own daemon is asked
    if sys.stdin is None or sys.stdin.isatty():
        raise WrongUseError(
            f"corral hook {program} takes what a coding agent says on standard input",
            "it is meant to be started by one: corral hook install registers it",
        )
    said = sys.stdin.buffer.read(LARGEST + 1)
    try:
        response = answered(places, "POST", _question(program, event), said)
        if response is None:
            return 0  # no team is up: nobody holds anything
        code, receipt = _hand_on(response.body)
        if receipt:
            _say_told(places, program, receipt)
        return code
    except DaemonSilentError as error:
        message, remedy = error.message, error.remedy
    except CorralError as error:
        message, remedy = error.message, error.remedy
    except Exception as error:
        # A mistake of ours must not let a write through that nobody judged.
        message, remedy = f"the hook failed: {error!r}", "this is a mistake in Corral, please report it"
    from corral.hook.without_answer import decide

    return decide(program, event, said, message, remedy)


def _question(program: str, event: str) -> str:
    asker = Asker.from_environment()
    return target(
        f"/v1/hooks/{program}",
        [
            ("event", event),
            ("team", asker.team if asker else None),
            ("agent", asker.agent if asker else None),
            ("run", (asker.run if asker else "") or None),
            ("cwd", os.getcwd()),
        ],
    )


def _hand_on(answer: bytes) -> "tuple[int, str]":
    """Say what is to be said; the exit code, and the word to say back for it, if there is one."""
    head, _, rest = answer.partition(b"\n")
    code, size, *receipt = head.decode("ascii").split("\t")
    sys.stdout.buffer.write(rest[: int(size)])
    sys.stderr.buffer.write(rest[int(size) :])
    sys.stdout.flush()
    sys.stderr.flush()
    return int(code), receipt[0] if receipt else ""


def _say_told(places: "Places", program: str, receipt: str) -> None:
    """The agent has been told of messages. If nobody takes note of that, it is told again: no harm in that."""
    try:
        answered(places, "POST", target(f"/v1/hooks/{program}/told", [("receipt", receipt)]), seconds=_TOLD_SECONDS)
    except (DaemonSilentError, CorralError):
        return  # what the agent does was judged, and nothing that goes wrong here may look as if it was not
