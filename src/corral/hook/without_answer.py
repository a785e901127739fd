"""What a coding agent's hook does when the daemon gives no answer: loud, and as `[enforcement]` of the team says.

Writes are refused unless `unreachable = "allow"`; all else passes. `corral up` puts the setting into the environment of
each agent, so that it is known without the daemon, and without a file to be parsed.
"""

import json
import os
import sys

from corral.domain.enforcement import ALLOW
from corral.domain.environment import UNREACHABLE_VARIABLE
from corral.domain.hook_calls import BEFORE, NotUnderstoodError, Verdict, event_word
from corral.domain.hook_dialects import Dialect, dialect


def decide(program: str, event: str, said: bytes, message: str, remedy: str) -> int:
    """Answer without the daemon; `message` and `remedy` say why it gave no answer. The exit code for the agent."""
    known = dialect(program)
    if known is None:
        sys.stderr.write(f"corral hook: there are no hooks of {program}\n")
        return 1  # blocks nothing, in every protocol
    allowed = os.environ.get(UNREACHABLE_VARIABLE) == ALLOW or not _is_a_write(known, event, said)
    why = f"{message} (what helps: {remedy})" if remedy else message
    if allowed:
        verdict = Verdict(warning=f"Corral checked nothing: {why}")
    else:
        verdict = Verdict(
            reason=(
                f"Not written: it is not known whether somebody else holds the file, because {why}. Do not write it in "
                "another way. Try again in a moment; if it stays so, tell the person you work for."
            )
        )
    spoken = known.speak(event, verdict)
    sys.stdout.write(spoken.stdout)
    sys.stderr.write(spoken.stderr or f"corral hook: {verdict.reason or verdict.warning}\n")
    return spoken.exit_code


def _is_a_write(known: Dialect, event: str, said: bytes) -> bool:
    """True also for what cannot be read, at the one time at which it could be a write."""
    try:
        return known.read(event, json.loads(said)).is_about_to_write
    except (NotUnderstoodError, ValueError, RecursionError):
        return known.events.get(event_word(event), ("", ""))[0] == BEFORE
