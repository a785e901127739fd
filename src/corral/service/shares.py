"""Whose share it counts in what somebody has, and how much of what is kept for a person is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from corral.domain import shares
from corral.service.ownership import PersonOf, one_person


class Shares:
    """The shares of all persons (`domain/shares.py`)."""

    def __init__(self, person_of: PersonOf = one_person) -> None:
        #: The person in whose share it counts what an OS user has or writes; empty where all is one person's.
        self.person_of = person_of
        self._taken: list[Callable[[str], int]] = []

    def count(self, taken: Callable[[str], int]) -> None:
        """Have counted what is kept somewhere: `taken` says how many bytes of a person's."""
        self._taken.append(taken)

    def count_by_user(self, taken: Callable[[], Mapping[str, int]]) -> None:
        """The same of something that is known by OS user."""
        self.count(lambda person: sum(size for user, size in taken().items() if self.person_of(user) == person))

    def check(self, person: str, more: int) -> None:
        """`RefusedError` if there is no room for so many bytes more of this person's."""
        if not person or more <= 0:
            return
        has = sum(taken(person) for taken in self._taken)
        if has + more > shares.BYTES:
            raise shares.no_room_left(person, has)
