"""Messages on their way into agents: how far each got, and whose turn it is. Pure.

Each agent gets one at a time, in the order in which they were sent. What is about to be done is written down as a
*step* before it is done, so after a crash it is known what may have been begun. What is unknown is never typed again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.messages import neutralised
from corral.domain.records import Who

# How far a message got.
#: It waits for its turn, or for the agent.
QUEUED = "queued"
#: It is in the composer, and Enter has not been pressed.
PASTED = "pasted"
#: Enter was pressed; or, without a terminal, it was written.
SUBMITTED = "submitted"
#: It is proved that the agent took it.
OBSERVED = "observed"
#: It is proved that nothing was typed, and nothing will be.
FAILED = "failed"
#: Nobody can tell, and it is not tried again.
UNKNOWN = "unknown"

#: The way of one that arrives.
WAY = (QUEUED, PASTED, SUBMITTED, OBSERVED)
STATES = (*WAY, FAILED, UNKNOWN)

# What is under way.
PASTING, ENTERING, PROVING = "pasting", "entering", "proving"
#: A hook of the agent is handing it over.
TELLING = "telling"

#: A hook hands over no longer text: agents cut off what is longer than they like.
LONGEST_TOLD = 4000
#: With one of these, words are a command to the agent's program, which only its composer understands.
_COMMANDS = ("/", "!", "#", "@", "$", "?", "&")

#: For one agent, so many may wait, and so many bytes of them.
MOST_WAITING, MOST_WAITING_BYTES = 1000, 32 << 20
#: Receipts that are kept of those that are over. Of more, the oldest go of the user who has the most.
KEPT_RECEIPTS = 5000
#: What one that waits weighs in a share besides its text.
_WEIGHT_OF_ONE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A message, without its text."""

    #: Greater than of every message before.
    number: int
    #: What people call it.
    message: str
    team: str
    agent: str
    #: Who sent it.
    by: Who
    bytes: int
    sha256: str
    #: Stands for the text as an agent gets it.
    digest: str
    #: Unix time at which it was sent.
    time: float
    #: Press Enter after it.
    enter: bool = True
    #: The agent's standard input ends with it.
    last: bool = False
    #: It is for this moment: if it cannot be typed now, it is not typed at all.
    at_once: bool = False
    #: It does not wait for the first prompt of its agent's run.
    ahead: bool = False
    #: The run whose first prompt it is; empty for any other.
    prompt_of: str = ""
    state: str = QUEUED
    step: str = ""
    #: The run that it is typed into, and the keeper that does it.
    run: str = ""
    keeper: str = ""
    #: Why it got no further.
    reason: str = ""
    #: It failed because it could never be typed, and this is what to do about it.
    remedy: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The agent."""
        return (self.team, self.agent)

    @property
    def is_over(self) -> bool:
        """Nothing will be done about it any more."""
        if self.step:
            return False
        return self.state in (SUBMITTED, OBSERVED, FAILED, UNKNOWN) or (self.state == PASTED and not self.enter)

    @property
    def weight(self) -> int:
        """What it costs in a share while it waits: bytes, roughly."""
        return self.bytes + _WEIGHT_OF_ONE

    @property
    def was_begun(self) -> bool:
        """Some of it may have been typed."""
        return bool(self.step) or self.state != QUEUED

    def may_be_told(self, text: str) -> bool:
        """True if a hook may hand this over, with that text, in place of typing it.

        Not what is no message for the model, or longer than a hook can say. And only what a person or Corral itself
        wrote: some agents take what a hook says for more than what is typed, and no agent should speak so to another.
        """
        if self.was_begun or not self.enter or self.last or self.prompt_of or self.at_once or self.by.agent:
            return False
        return len(text) <= LONGEST_TOLD and not text.lstrip().startswith(_COMMANDS)

    def reached(self, state: str) -> bool:
        """True if it got so far, or further."""
        return self.state in WAY and WAY.index(self.state) >= WAY.index(state)


def digest(text: str) -> str:
    """The same for two texts that an agent cannot tell apart once they are pasted."""
    return hashlib.sha256(" ".join(neutralised(text).split()).encode()).hexdigest()


class Line:
    """All messages that wait, and the receipts of those that do not."""

    def __init__(self, sends: Iterable[Send] = ()) -> None:
        self._sends: dict[int, Send] = {}
        self._numbers: dict[str, int] = {}
        #: Of each agent, the numbers of those that are not over, in order.
        self._waiting: dict[tuple[str, str], list[int]] = {}
        #: By the OS user who sent them: what those weigh that wait, and the numbers of those that are over, in order.
        self._taken = Counter[str]()
        self._over: dict[str, dict[int, None]] = {}
        self._count_over = 0
        for send in sorted(sends, key=lambda one: one.number):
            self._put(send)

    def add(self, send: Send) -> None:
        """Put a new one in its line. `RefusedError` if that is too long; but what all wait for finds a place."""
        waiting = self.waiting(send.key)
        is_full = len(waiting) >= MOST_WAITING or sum(one.bytes for one in waiting) + send.bytes > MOST_WAITING_BYTES
        if is_full and not send.prompt_of:
            raise RefusedError(
                f"{len(waiting)} messages wait for {send.agent} already, which is as much as is kept",
                f"corral send --status {waiting[0].message} tells what the first of them waits for",
            )
        self._put(send)

    def change(self, send: Send) -> list[Send]:
        """Take note of how far one got; the receipts that are too many now, which are gone with this."""
        self._put(send)
        gone = []
        while self._count_over > KEPT_RECEIPTS:
            most = max(self._over.values(), key=len)
            one = self._sends.pop(next(iter(most)))
            del most[one.number]
            self._count_over -= 1
            self._numbers.pop(one.message, None)
            gone.append(one)
        return gone

    def taken(self) -> Mapping[str, int]:
        """What those weigh that wait, by the OS user who sent them."""
        return self._taken

    def _put(self, send: Send) -> None:
        self._sends[send.number] = send
        self._numbers[send.message] = send.number
        waiting = self._waiting.setdefault(send.key, [])
        if send.is_over:
            if send.number in waiting:
                waiting.remove(send.number)
                self._taken[send.by.user] -= send.weight
            over = self._over.setdefault(send.by.user, {})
            self._count_over += send.number not in over
            over[send.number] = None
        elif send.number not in waiting:
            waiting.insert(self._place(send, waiting), send.number)
            self._taken[send.by.user] += send.weight
        if not waiting:
            del self._waiting[send.key]

    def _place(self, send: Send, waiting: Sequence[int]) -> int:
        """Where in its line a new one stands: at the end; but a first prompt before all that were not begun."""
        if not send.prompt_of:
            return len(waiting)
        return next((at for at, number in enumerate(waiting) if not self._sends[number].was_begun), len(waiting))

    def get(self, message: str) -> Send:
        """The message of that id, or `NotFoundError`."""
        number = self._numbers.get(message)
        if number is None:
            raise no_receipt(message)
        return self._sends[number]

    def waiting(self, key: tuple[str, str]) -> Sequence[Send]:
        """Those of an agent that are not over, the first in line first."""
        return [self._sends[number] for number in self._waiting.get(key, ())]

    def first(self, key: tuple[str, str]) -> Send | None:
        """The one whose turn it is."""
        numbers = self._waiting.get(key)
        return self._sends[numbers[0]] if numbers else None

    def agents(self) -> list[tuple[str, str]]:
        """Those for whom something waits."""
        return list(self._waiting)

    def prompt_of(self, run: str) -> Send | None:
        """The first prompt of a run, if it was put in line."""
        return next((send for send in reversed(self._sends.values()) if send.prompt_of == run), None)

    def said(self, key: tuple[str, str], text: str) -> Send | None:
        """The oldest message of which an agent's own words prove that it got it, if that was not known."""
        wanted = digest(text)
        open_ones = (PASTED, SUBMITTED, UNKNOWN)
        return next(
            (
                send
                for send in self._sends.values()
                if send.key == key and send.state in open_ones and send.was_begun and send.digest == wanted
            ),
            None,
        )


def no_receipt(message: str) -> NotFoundError:
    """What is said of a message that there is no receipt of."""
    return NotFoundError(
        f"there is no receipt of a message {message}", f"the last {KEPT_RECEIPTS} are kept; corral events has more"
    )
