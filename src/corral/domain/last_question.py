"""What a launch shell asks when its program has ended, how that is heard, and how it stays out of records.

Two are asked. tmux answers once it has read everything before the question, and the keeper once it has received
everything before its own: what tmux has read and not yet passed on would be gone with the terminal. Nobody wants either
in a record: whoever shows one on a terminal would make that terminal answer, into the shell of the person.
"""

from __future__ import annotations

#: "Are you well?" (DSR), and what a terminal answers. Before it, focus is no longer to be told: tmux 3.3a and 3.4 tell
#: it to a program that has ended as well, and crash.
QUESTION = b"\x1b[?1004l\x1b[5n"
ANSWER = b"\x1b[0n"
#: "Have you heard everything?", to the keeper, and what it answers. A number that no terminal knows: tmux passes it on
#: to whoever listens, and shows nothing. The answer is pasted, so it has no characters that a paste may lose.
CALL = b"\x1b]7391\x07"
HEARD = b"corral:heard"
_ASKED = (CALL, QUESTION)


class QuestionFilter:
    """Takes the questions out of output that comes in pieces, which may end in the middle of one."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The output without the questions; what may be the beginning of one is held back until more comes."""
        kept = self._held + data
        for asked in _ASKED:
            kept = kept.replace(asked, b"")
        beginning = max(_beginning(kept, asked) for asked in _ASKED)
        self._held = kept[len(kept) - beginning :]
        return kept[: len(kept) - beginning]

    def finish(self) -> bytes:
        """What was held back and turned out to be no question."""
        held, self._held = self._held, b""
        return held


class CallDetector:
    """Hears the call in output that comes in pieces."""

    def __init__(self) -> None:
        self._before = b""

    def heard(self, data: bytes) -> bool:
        """True if the call ends in this piece."""
        text = self._before + data
        self._before = text[len(text) - _beginning(text, CALL) :]
        return CALL in text


def _beginning(text: bytes, asked: bytes) -> int:
    """How many bytes at the end of the text may be the beginning of it."""
    return next((size for size in range(len(asked) - 1, 0, -1) if text.endswith(asked[:size])), 0)
