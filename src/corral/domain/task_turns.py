"""Which of the tasks that can be claimed is next: by priority, then by turns between people, then the oldest.

Kept in order at all times, so that to find the next one takes as long for ten thousand tasks as for ten.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import NamedTuple

#: Labels that a task asks for.
_Labels = frozenset[str]


class Place(NamedTuple):
    """Where a task stands in line."""

    number: int
    labels: _Labels
    priority: int
    person: str


class Line:
    """Tasks that can be claimed."""

    def __init__(self) -> None:
        #: labels → priority → person → numbers, the oldest first. Nothing in it is empty.
        self._lanes: dict[_Labels, dict[int, dict[str, list[int]]]] = {}
        self._places: dict[int, Place] = {}
        #: When a person last had a turn at a priority. It stays when nothing of theirs is in line: otherwise whoever
        #: adds one task at a time would always be new, and first.
        self._turns: dict[tuple[int, str], int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def add(self, place: Place) -> None:
        """Let a task stand in line, at the place that its age gives it; again is no harm."""
        if place.number in self._places:
            return
        self._places[place.number] = place
        people = self._lanes.setdefault(place.labels, {}).setdefault(place.priority, {})
        insort(people.setdefault(place.person, []), place.number)

    def remove(self, number: int) -> None:
        """It is in line no more; again is no harm."""
        place = self._places.pop(number, None)
        if place is None:
            return
        priorities = self._lanes[place.labels]
        people = priorities[place.priority]
        numbers = people[place.person]
        del numbers[bisect_left(numbers, number)]
        if not numbers:
            del people[place.person]
        if not people:
            del priorities[place.priority]
        if not priorities:
            del self._lanes[place.labels]

    def had_turn(self, priority: int, person: str, token: int) -> None:
        """A task of this person was claimed with this token."""
        self._turns[priority, person] = max(token, self._turns.get((priority, person), 0))

    def first(self, labels: _Labels) -> int | None:
        """The next task for somebody with these labels; None if there is none.

        Of the highest priority that has any, it is the turn of the person who was last served the longest ago, or
        never; among those who never were, of the one whose task is the oldest.
        """
        priority = max((max(lane) for lane in self._lanes_for(labels)), default=None)
        if priority is None:
            return None
        oldest: dict[str, int] = {}
        for lane in self._lanes_for(labels):
            for person, numbers in lane.get(priority, {}).items():
                oldest[person] = min(numbers[0], oldest.get(person, numbers[0]))
        return min((self._turns.get((priority, person), 0), number) for person, number in oldest.items())[1]

    def _lanes_for(self, labels: _Labels) -> Iterator[dict[int, dict[str, list[int]]]]:
        if not labels:
            lane = self._lanes.get(labels)
            return iter(() if lane is None else (lane,))
        return (lane for wanted, lane in self._lanes.items() if wanted <= labels)
