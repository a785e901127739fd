"""What sessions know of files, person by person.

On a shared server a path is the word of somebody's own keeper, and that may name any file. So what is noted, and who
waits for whose decision, is among the agents of one person, as leases are (ADR 31): nobody is told of what others
write, or kept from writing, by somebody who names it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from corral.domain.file_notes import FileNotes, Key, Note, Session


@dataclass(slots=True)
class OnePersons:
    """What is known to the agents of one person, and to that person."""

    notes: FileNotes = field(default_factory=FileNotes)
    #: Held by whoever decides about a writing. The person's keeper is waited for meanwhile.
    deciding: asyncio.Lock = field(default_factory=asyncio.Lock)


class NotedFiles:
    """By person; of all in one where the instance is one person's."""

    def __init__(self, person_of: Callable[[str], str]) -> None:
        """`person_of` says whose a party is: an agent, or a person."""
        self._person_of = person_of
        self._known: dict[str, OnePersons] = {}

    def of(self, party: str) -> OnePersons:
        """What there is for this party."""
        return self._known.setdefault(self._person_of(party), OnePersons())

    def put(self, found: Iterable[tuple[Session, str, Note]]) -> None:
        """These notes, and no others. Who decides about something goes on with it."""
        by_person: dict[str, list[tuple[Session, str, Note]]] = {}
        for one in found:
            by_person.setdefault(self._person_of(one[0].party), []).append(one)
        for person in {*self._known, *by_person}:
            self._known.setdefault(person, OnePersons()).notes = FileNotes(by_person.get(person, ()))

    def forget(self, party: str) -> list[Key]:
        """Drop all that is known of somebody, whosever it was; what was dropped."""
        return [key for one in self._known.values() for key in one.notes.forget(party)]
