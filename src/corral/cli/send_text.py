"""The text that a command is to type: words of the command line, or standard input."""

import os
import sys

from corral.domain.errors import WrongUseError
from corral.domain.messages import MAX_BYTES, checked


def message_of(words: list[str]) -> bytes:
    """The words joined by a space, or standard input as it is. What cannot be sent is wrong use."""
    message = _message(words)
    if len(message) > MAX_BYTES:
        raise WrongUseError(
            "the message is longer than 1 MiB, the most that can be sent",
            "put it into a file in the agent's workspace and send the file's name",
        )
    checked(message)
    return message


def _message(words: list[str]) -> bytes:
    if words and words != ["-"]:
        # Back to the bytes that were typed: what is no UTF-8 must be refused, not repaired.
        return os.fsencode(" ".join(words))
    if not words and sys.stdin is not None and sys.stdin.isatty():
        raise WrongUseError(
            "there is no text to send", "write it after the agent, or pipe it in; - reads what you type until ctrl-d"
        )
    if sys.stdin is None:
        return b""
    # One byte more than may be: then it is known to be too long.
    return sys.stdin.buffer.read(MAX_BYTES + 1)
