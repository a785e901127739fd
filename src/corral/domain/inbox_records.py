"""What is known of one thing that waits for a person. Immutable; a change is a new record."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.activity import ABOUT, PERMISSION, QUESTION
from corral.domain.dialogs import Choice
from corral.domain.errors import NotFoundError

CONFLICT, FAILED, STUCK = "conflict", "failed", "stuck"
#: What somebody can be asked for, in the order in which people are told of them.
KINDS = (*ABOUT, CONFLICT, FAILED, STUCK)

#: Nobody has taken it on; somebody has; nobody wants to be told of it for a while.
OPEN, CLAIMED, SNOOZED = "open", "claimed", "snoozed"
#: Its answer was decided on, and is being pressed.
ANSWERING = "answering"
#: At an end: somebody answered it; what it was about went away by itself.
ANSWERED, GONE = "answered", "gone"
STATES = (OPEN, CLAIMED, SNOOZED, ANSWERING, ANSWERED, GONE)
#: It still waits for somebody.
WAITS = frozenset((OPEN, CLAIMED, SNOOZED, ANSWERING))

#: What was seen of an answer: the question went away; nobody can tell, because daemon or keeper ended meanwhile.
PROVED, NOT_KNOWN = "proved", "unknown"

APPROVE, DENY = "approve", "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why somebody is needed."""

    team: str
    #: Empty if it is about no agent's work.
    agent: str
    kind: str
    #: Names it among those of the same agent and kind: a mark of a dialog, the name of a merge, a run.
    key: str
    #: In one line.
    what: str
    #: What a person can do about it, if it cannot be answered here.
    remedy: str = ""
    #: The run that it is about; empty if it is about none.
    run: str = ""
    #: The lines that it is about, and the whole screen as it was.
    lines: tuple[str, ...] = ()
    screen: tuple[str, ...] = ()
    #: Which answers it offers, as far as anybody knows: choices that it numbers, and the keys that say yes and no.
    choices: tuple[Choice, ...] = ()
    approve: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    #: The mark of the dialog that an answer is pressed into; empty if there is none.
    mark: str = ""
    #: It takes words for an answer.
    text: bool = False

    @property
    def takes_keys(self) -> bool:
        """True if its dialog is on the screen, and somebody knows a key that answers it."""
        return bool(self.mark and (self.choices or self.approve or self.deny or self.text))

    def becomes(self, later: Cause) -> bool:
        """True if the other is the same question, of which more is known: its dialog was drawn meanwhile.

        Hooks and titles tell of a question before it is on the screen, and not always which kind it is.
        """
        is_told = self.kind in (PERMISSION, QUESTION) and not self.takes_keys
        is_theirs = (self.team, self.agent, self.run) == (later.team, later.agent, later.run)
        return is_told and later.takes_keys and is_theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that waits for a person, or did."""

    #: Small, of the whole instance, and never used again.
    number: int
    cause: Cause
    #: Unix time since when it waits.
    since: float
    state: str = OPEN
    #: Unix time of its last change.
    changed: float
    #: Who claimed, snoozed or answered it.
    by: str = ""
    #: Unix time at which a claim or a rest is over by itself; 0 if it is in neither.
    until: float = 0.0
    #: What was answered: a number, `approve`, `deny`, or `text`; the words themselves are not kept.
    answer: str = ""
    #: One of `PROVED` and `NOT_KNOWN`; empty unless it was answered.
    outcome: str = ""
    #: In whose share it counts (`shares`): of whoever has the team up.
    person: str = ""

    @property
    def waits(self) -> bool:
        return self.state in WAITS

    def at(self, now: float) -> Entry:
        """As it is at a time: a claim or a rest that is over leaves it open."""
        if self.state in (CLAIMED, SNOOZED) and self.until <= now:
            return Entry(number=self.number, cause=self.cause, since=self.since, changed=self.until, person=self.person)
        return self


def number_of(text: str) -> int:
    """The number of an entry; `NotFoundError` for what can be none."""
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    raise NotFoundError(f"{text[:80]!r} is no entry of the inbox", "corral inbox shows those that there are; such as 3")
