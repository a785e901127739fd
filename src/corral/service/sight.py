"""Which rows of a list somebody may be told of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from corral.service.authority import Asking

_T = TypeVar("_T")
_ROWS = "rows"
_MOST_ROWS = 10_000


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
        from corral.domain.policy import ROWS

        self._asking = asking
        self._verb = ROWS.get(verb, verb)

    async def rows(self, rows: Iterable[_T], whose: Callable[[_T], tuple[str, str]]) -> list[_T]:
        """See `Sight`."""
        all_of_them, asking = list(rows), self._asking
        known = self._known()
        try:
            return [row for row in all_of_them if known[whose(row)]]
        except KeyError:
            pass  # some of them nobody asked about yet
        target, keys = asking.authority.target, {whose(row) for row in all_of_them}
        seen = await asking.settled(lambda: {key: asking.decision(self._verb, target(*key)).allow for key in keys})
        if asking.by_heart:
            self._known().update(seen)
        return [row for row in all_of_them if seen[whose(row)]]

    def _known(self) -> dict[tuple[str, str], bool]:
        """Whose rows may be seen and whose not, as far as is remembered."""
        memory, key = self._asking.authority.memory(), (_ROWS, self._verb, self._asking.who)
        found: dict[tuple[str, str], bool] = memory.setdefault(key, {})  # type: ignore[assignment] # only put here
        if len(found) > _MOST_ROWS:
            found.clear()
        return found
