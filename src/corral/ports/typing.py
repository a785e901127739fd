"""What the daemon may ask of a keeper to get a message into an agent: one step at a time, each on its own.

The daemon writes down what a step has led to before it asks for the next one. A keeper remembers, for each run, how far
it got with the last message; a step that it has done is not done again.
"""

from __future__ import annotations

from typing import Literal, Protocol

from corral.ports.record import Record

#: `free`: the keyboard is leased, and the paste may follow. `held`: nothing was done, and why. `pasted`, `submitted`,
#: `observed`: so far it got. `lost`: it was in the composer, and is not any more. `none`: this keeper knows nothing of
#: it.
TypingState = Literal["free", "held", "pasted", "submitted", "observed", "lost", "none"]


class Typing(Record, frozen=True):
    """What came of a step."""

    state: TypingState
    #: Why no more was done, for a person.
    reason: str = ""
    #: Seconds after which it is worth another try; None: when something changes there.
    again: float | None = None
    #: It was seen in the composer.
    proved: bool = False


class TypingSteps(Protocol):
    """The steps. All may raise `UnavailableError`: then nobody knows whether the step was done.

    Any other error means that it was not.
    """

    async def typing_begin(self, team: str, run: str, message: str) -> Typing:
        """Look whether the message may be typed now: `free` or `held`."""

    async def typing_paste(self, team: str, run: str, message: str, text: str, *, enter: bool, last: bool) -> Typing:
        """Paste it: `pasted`; or `held`, if it may not be typed any more. Without a terminal: `submitted`.

        With `enter` the keyboard stays leased for some seconds.
        """

    async def typing_enter(self, team: str, run: str, message: str) -> Typing:
        """Press Enter: `submitted`; or `held`, or `lost`, and then nothing was pressed."""

    async def typing_proof(self, team: str, run: str, message: str) -> Typing:
        """Wait some seconds for the proof that it was taken: `observed`, or still `submitted`."""

    async def typing_recall(self, team: str, run: str, message: str, text: str) -> Typing:
        """How far this keeper got with a message: `pasted`, `submitted`, or `none`. It is not pasted after that,
        unless it is begun anew.

        Of one that an earlier keeper had: `pasted` if the composer shows it, else `none`.
        """
