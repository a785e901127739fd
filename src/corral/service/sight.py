"""Which rows of a list somebody may be told of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from corral.domain.policy import ROWS
from corral.service.authority import Asking

_T = TypeVar("_T")


class Sight(Protocol):
    """What somebody sees."""

    async def rows(self, rows: Iterable[_T], whose: Callable[[_T], tuple[str, str]]) -> list[_T]:
        """Those that may be told of. `whose` is the team and the agent of one; without an agent it is the team's, and
        without either the host's."""


class _Everything:
    async def rows(self, rows: Iterable[_T], whose: Callable[[_T], tuple[str, str]]) -> list[_T]:  # noqa: ARG002 - all
        return rows if isinstance(rows, list) else list(rows)


#: Of a daemon that serves one person.
EVERYTHING: Sight = _Everything()


class AskedSight:
    """Asks the policy about each row: for lists that are read once, and for those that are followed."""

    def __init__(self, asking: Asking, verb: str) -> None:
        self._asking = asking
        self._verb = ROWS.get(verb, verb)

    async def rows(self, rows: Iterable[_T], whose: Callable[[_T], tuple[str, str]]) -> list[_T]:
        """See `Sight`."""
        all_of_them, asking = list(rows), self._asking
        target = asking.authority.target
        return await asking.settled(
            lambda: [row for row in all_of_them if asking.decision(self._verb, target(*whose(row))).allow]
        )
