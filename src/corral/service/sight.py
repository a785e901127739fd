"""Which rows of a list somebody may be told of."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from corral.service.authority import Asking

_T = TypeVar("_T")
#: The team and the agent of a row. Without an agent it is the team's, and without either the host's.
Whose = tuple[str, str]
#: Who sees a thing is told what is in it if they may do this with it: of an agent its command line, its last words and
#: what its screen says; of a process its command line. Of events: `domain.policy.contents_of_event`.
CONTENTS_OF_AGENT, CONTENTS_OF_PROCESS = "screen", "read_output"
_ROWS = "rows"
_MOST_ROWS = 10_000


class Sight(Protocol):
    """What somebody sees."""

    async def rows(self, rows: Iterable[_T], whose: Callable[[_T], Whose]) -> list[_T]:
        """Those that may be told of."""

    async def opened(self, verb: str, rows: Iterable[Whose]) -> Container[Whose]:
        """Of the rows that may be told of, those whose contents may be as well: `verb` may be done with whose they are.

        What is not among them is told without its contents, and that something is left out is said.
        """


class _All:
    def __contains__(self, _: object) -> bool:
        return True


_ALL = _All()


class _Everything:
    async def rows(self, rows: Iterable[_T], whose: Callable[[_T], Whose]) -> list[_T]:  # noqa: ARG002 - all
        return rows if isinstance(rows, list) else list(rows)

    async def opened(self, verb: str, rows: Iterable[Whose]) -> Container[Whose]:  # noqa: ARG002 - all
        return _ALL


#: Of a daemon that serves one person.
EVERYTHING: Sight = _Everything()


class AskedSight:
    """Asks the policy about each row: for lists that are read once, and for those that are followed."""

    def __init__(self, asking: Asking, verb: str) -> None:
        from corral.domain.policy import ROWS

        self._asking = asking
        self._verb = ROWS.get(verb, verb)

    async def rows(self, rows: Iterable[_T], whose: Callable[[_T], Whose]) -> list[_T]:
        """See `Sight`."""
        all_of_them = list(rows)
        known = self._known(self._verb)
        try:
            return [row for row in all_of_them if known[whose(row)]]
        except KeyError:
            pass  # some of them nobody asked about yet
        seen = await self._asked(self._verb, {whose(row) for row in all_of_them})
        return [row for row in all_of_them if seen[whose(row)]]

    async def opened(self, verb: str, rows: Iterable[Whose]) -> Container[Whose]:
        """See `Sight`."""
        keys, known = set(rows), self._known(verb)
        if not keys <= known.keys():
            known = await self._asked(verb, keys)
        return {key for key in keys if known[key]}

    async def _asked(self, verb: str, keys: Iterable[Whose]) -> dict[Whose, bool]:
        asking, target = self._asking, self._asking.authority.target
        seen = await asking.settled(lambda: {key: asking.decision(verb, target(*key)).allow for key in keys})
        if asking.by_heart:
            self._known(verb).update(seen)
        return seen

    def _known(self, verb: str) -> dict[Whose, bool]:
        """With whose rows it may be done and with whose not, as far as is remembered."""
        memory, key = self._asking.authority.memory(), (_ROWS, verb, self._asking.who)
        found: dict[Whose, bool] = memory.setdefault(key, {})  # type: ignore[assignment] # only put here
        if len(found) > _MOST_ROWS:
            found.clear()
        return found
