"""Who waits for whom, over everything that can be waited for. A wait that could never end is refused at once.

A party is an agent (`TEAM/AGENT`) or a person. It waits for all that would have to happen before it goes on: for each
party that could make it happen there is an edge, and a way from one of these back to whoever waits is a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corral.domain.errors import RefusedError


@dataclass(frozen=True, slots=True)
class _Wait:
    waiter: str
    on: frozenset[str]
    what: str


class Waits:
    """All waits that are under way."""

    def __init__(self) -> None:
        self._waits: dict[int, _Wait] = {}
        self._numbers = 0

    def begin(self, waiter: str, on: Iterable[str], what: str) -> int:
        """Somebody begins to wait for others, for `what` ("the lease on src/"). A number to end it by.

        Raises `RefusedError`, with the cycle named, if one of them waits for the waiter, be it through others. To wait
        for oneself is a cycle as well.
        """
        wait = _Wait(waiter, frozenset(on), what)
        self._check(wait)
        self._numbers += 1
        self._waits[self._numbers] = wait
        return self._numbers

    def change(self, number: int, on: Iterable[str]) -> None:
        """It is others that are waited for now. Raises as `begin` does, and then it is as it was."""
        before = self._waits.pop(number)
        try:
            wait = _Wait(before.waiter, frozenset(on), before.what)
            self._check(wait)
        except RefusedError:
            self._waits[number] = before
            raise
        self._waits[number] = wait

    def end(self, number: int) -> None:
        """It is over; again is no harm."""
        self._waits.pop(number, None)

    def _check(self, new: _Wait) -> None:
        way = self._way_back(new)
        if way is None:
            return
        told = "; ".join(f"{wait.waiter} waits for {wait.what}, which {party} has" for wait, party in way)
        raise RefusedError(
            f"that wait would never end: {told}",
            "release what you hold, or do something else first",
            cycle=[wait.waiter for wait, _ in way],
        )

    def _way_back(self, new: _Wait) -> list[tuple[_Wait, str]] | None:
        """Each wait of a cycle with the party that is waited for; None if there is no cycle."""
        ahead: list[tuple[str, list[tuple[_Wait, str]]]] = [(party, [(new, party)]) for party in sorted(new.on)]
        seen: set[str] = set()
        while ahead:
            party, way = ahead.pop()
            if party == new.waiter:
                return way
            if party in seen:
                continue
            seen.add(party)
            for wait in self._waits.values():
                if wait.waiter == party:
                    ahead += [(other, [*way, (wait, other)]) for other in sorted(wait.on)]
        return None
