"""The question that a launch shell asks the terminal when its program has ended, and how it stays out of records.

tmux answers it once it has read everything before it, so an answer proves that the last words were read. Nobody wants
it in a record: whoever shows one on a terminal would make that terminal answer, into the shell of the person.
"""

from __future__ import annotations

#: "Are you well?" (DSR), and what a terminal answers.
QUESTION = b"\x1b[5n"
ANSWER = b"\x1b[0n"


class QuestionFilter:
    """Takes the question out of output that comes in pieces, which may end in the middle of it."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The output without the question; what may be the beginning of one is held back until more comes."""
        kept = (self._held + data).replace(QUESTION, b"")
        beginning = next((n for n in range(len(QUESTION) - 1, 0, -1) if kept.endswith(QUESTION[:n])), 0)
        self._held = kept[len(kept) - beginning :]
        return kept[: len(kept) - beginning]

    def finish(self) -> bytes:
        """What was held back and turned out to be no question."""
        held, self._held = self._held, b""
        return held
