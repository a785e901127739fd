"""What waits for a person, of all teams: one entry for a cause, answered once. Pure.

An entry comes with its cause and goes with it. While it waits it can be claimed: then it is that person's until the
claim lapses, and nobody else's. To answer is to claim first; so of two who answer, one is refused.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from corral.domain.activity import ABOUT
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.inbox_records import (
    ANSWERED,
    ANSWERING,
    CLAIMED,
    GONE,
    OPEN,
    SNOOZED,
    Cause,
    Entry,
)

#: Seconds that a claim holds, and that an entry rests unless somebody says for how long.
CLAIM_SECONDS, SNOOZE_SECONDS = 1800.0, 3600.0
LONGEST_SNOOZE = 30 * 86400.0
#: A cause that comes back within so many seconds was never really gone: a screen flickers while it is drawn.
FLAP_SECONDS = 30.0
#: Entries of one person's teams that are at an end and kept: those that ended last.
KEPT_CLOSED = 200
#: Entries of them that wait. Nobody reads so many; what comes then is told by `ps` and the journal all the same.
MOST_WAITING = 5000


class Inbox:
    """Every change either is made, or raises and changes nothing."""

    def __init__(self, entries: Iterable[Entry] = (), last: int = 0) -> None:
        self._entries: dict[int, Entry] = {}
        #: By team, agent and kind, those that wait.
        self._waiting: dict[tuple[str, str, str], set[int]] = {}
        #: In the order in which they ended, all of them and those of each person.
        self._closed: dict[int, None] = {}
        self._closed_of: dict[str, dict[int, None]] = {}
        #: How many wait, by person.
        self._count = Counter[str]()
        self._last = last
        for entry in sorted(entries, key=lambda entry: (entry.changed, entry.number)):
            self._put(entry)
            self._last = max(self._last, entry.number)

    # Looking

    @property
    def last(self) -> int:
        """The greatest number that was ever given out."""
        return self._last

    def get(self, number: int) -> Entry:
        """The entry of that number, or `NotFoundError`."""
        entry = self._entries.get(number)
        if entry is None:
            raise no_entry(number)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        """All that are kept, oldest first."""
        return iter(sorted(self._entries.values(), key=lambda entry: (entry.since, entry.number)))

    def waiting(self, team: str, agent: str, *kinds: str) -> list[Entry]:
        """Those of an agent that wait, of these kinds."""
        found = (number for kind in kinds for number in self._waiting.get((team, agent, kind), ()))
        return [self._entries[number] for number in sorted(found)]

    def agents(self) -> set[tuple[str, str]]:
        """Whose entries wait, by team and agent."""
        return {(team, agent) for (team, agent, _), numbers in self._waiting.items() if numbers}

    # Causes

    def came(self, cause: Cause, now: float, person: str = "") -> Entry | None:
        """Somebody is needed, for a team of this person. The entry if that is news; None if it is known, or there are
        too many.

        One that has just gone, for the same cause, waits again under its number. One that waits is brought up to date,
        which is no change of it: its dialog was drawn, or somebody has moved the cursor there.
        """
        known = self.waiting_for(cause)
        if known is not None:
            knows_less = known.cause.takes_keys and not cause.takes_keys
            is_same = known.cause.mark == cause.mark and (cause.mark or known.cause == cause)
            if knows_less or is_same or known.state == ANSWERING:
                return None
            return self._put(replace(known, cause=cause))
        before = self._just_gone(cause, now)
        if before is not None:
            return self._put(replace(before, cause=cause, state=OPEN, changed=now, by="", until=0.0))
        if self._count[person] >= MOST_WAITING:
            return None
        self._last += 1
        return self._put(Entry(number=self._last, cause=cause, since=now, changed=now, person=person))

    def waiting_for(self, cause: Cause) -> Entry | None:
        """The entry that waits for the same; None if that would be a new one.

        What was told of before its dialog was drawn is the same as what is drawn then; not while somebody answers it,
        because their answer is to what they saw. And a dialog that cannot be seen for a moment is still the same.
        """
        same = (entry for entry in self.waiting(cause.team, cause.agent, cause.kind) if entry.cause.key == cause.key)
        of_screen = self.waiting(cause.team, cause.agent, *ABOUT)
        told = (entry for entry in of_screen if entry.state != ANSWERING and entry.cause.becomes(cause))
        seen = (entry for entry in of_screen if cause.becomes(entry.cause))
        return next(itertools.chain(same, told, seen), None)

    def _just_gone(self, cause: Cause, now: float) -> Entry | None:
        for number in reversed(self._closed):
            entry = self._entries[number]
            if now - entry.changed > FLAP_SECONDS:
                return None
            if entry.state == GONE and _same(entry.cause, cause):
                return entry
        return None

    def went(self, number: int, now: float) -> Entry | None:
        """Its cause is gone. None if it was at an end already, or somebody is just answering it."""
        entry = self.get(number)
        if not entry.waits or entry.state == ANSWERING:
            return None
        return self._put(replace(entry, state=GONE, changed=now, by="", until=0.0))

    # People

    def claim(self, number: int, by: str, now: float) -> Entry:
        """It is theirs, for a while; `RefusedError` if it is somebody else's or at an end."""
        entry = self.must_be_free(number, by, now)
        return self._put(replace(entry, state=CLAIMED, by=by, until=now + CLAIM_SECONDS, changed=now))

    def snooze(self, number: int, by: str, seconds: float, now: float) -> Entry:
        """It rests for so long."""
        if not 0 < seconds <= LONGEST_SNOOZE:
            raise WrongUseError(
                f"an entry cannot rest for {seconds:g} seconds", f"more than 0, and at most {LONGEST_SNOOZE:g}"
            )
        entry = self.must_be_free(number, by, now)
        return self._put(replace(entry, state=SNOOZED, by=by, until=now + seconds, changed=now))

    def begin_answer(self, number: int, by: str, answer: str, now: float) -> Entry:
        """Their answer is about to be pressed: nobody else's is until it is known what came of it."""
        entry = self.must_be_free(number, by, now)
        return self._put(replace(entry, state=ANSWERING, by=by, until=0.0, answer=answer, changed=now))

    def answered(self, number: int, outcome: str, now: float) -> Entry:
        """The answer that was begun is given."""
        entry = self._answering(number)
        return self._put(replace(entry, state=ANSWERED, outcome=outcome, changed=now))

    def not_answered(self, number: int, now: float, *, gone: bool) -> Entry:
        """The answer that was begun was not given: what it was about is gone, or it is still theirs to answer."""
        entry = replace(self._answering(number), answer="", changed=now)
        if gone:
            return self._put(replace(entry, state=GONE, by=""))
        return self._put(replace(entry, state=CLAIMED, until=now + CLAIM_SECONDS))

    def _answering(self, number: int) -> Entry:
        entry = self.get(number)
        if entry.state != ANSWERING:
            raise ValueError(f"nobody answers entry {number}")
        return entry

    def must_be_free(self, number: int, by: str, now: float) -> Entry:
        """The entry as it is then, if it waits and nobody else has it; `RefusedError`, with why, otherwise."""
        entry = self.get(number).at(now)
        if entry.state == ANSWERED:
            raise RefusedError(
                f"entry {number} was answered by {entry.by} already ({entry.answer})",
                "corral inbox shows what else there is",
                state=entry.state,
                by=entry.by,
            )
        if entry.state == GONE:
            raise RefusedError(
                f"entry {number} waits no more: what it was about is gone",
                "corral inbox shows what there is now",
                state=entry.state,
            )
        if entry.state == ANSWERING or (entry.state == CLAIMED and entry.by != by):
            what = "is being answered" if entry.state == ANSWERING else "is claimed"
            raise RefusedError(
                f"entry {number} {what} by {entry.by}", "leave it to them, or ask them", state=entry.state, by=entry.by
            )
        return entry

    # Keeping

    def surplus(self) -> list[int]:
        """Forget those at an end that are too many of one person's: their numbers."""
        found = []
        for closed in self._closed_of.values():
            found += list(closed)[: max(0, len(closed) - KEPT_CLOSED)]
        for number in found:
            entry = self._entries.pop(number)
            del self._closed[number], self._closed_of[entry.person][number]
        return found

    def _put(self, entry: Entry) -> Entry:
        before = self._entries.get(entry.number)
        if before is not None and before.waits:
            # Under another kind, if what it was told to be about turned out to be something else.
            waiting = self._waiting[_place(before)]
            waiting.discard(entry.number)
            if not waiting:
                del self._waiting[_place(before)]
            self._count[before.person] -= 1
        self._entries[entry.number] = entry
        closed = self._closed_of.setdefault(entry.person, {})
        for kept in (self._closed, closed):
            kept.pop(entry.number, None)
        if entry.waits:
            self._waiting.setdefault(_place(entry), set()).add(entry.number)
            self._count[entry.person] += 1
        else:
            self._closed[entry.number] = closed[entry.number] = None
        return entry


def _place(entry: Entry) -> tuple[str, str, str]:
    return entry.cause.team, entry.cause.agent, entry.cause.kind


def _same(one: Cause, other: Cause) -> bool:
    return (one.team, one.agent, one.kind, one.key) == (other.team, other.agent, other.kind, other.key)


def no_entry(number: int) -> NotFoundError:
    """What is said of an entry that there is not."""
    return NotFoundError(f"there is no entry {number}", "corral inbox --all shows those that there are")
