"""Who waits for whom, over everything that can be waited for. A wait that could never end is refused at once.

A party is an agent (`TEAM/AGENT`) or a person. What it waits for may come about in one or more ways, its
*alternatives*; each needs one or more parties to go on first. A wait can never end if in each of its alternatives
somebody is needed whose own wait can never end, and so in a circle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from corral.domain.errors import RefusedError

#: One way in which a wait may end: each party that has to go on first, with what it has ("the lease on src/").
Alternative = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Wait:
    waiter: str
    alternatives: tuple[Alternative, ...]
    #: What all of it is about, if it is about one thing.
    what: str = ""

    @property
    def parties(self) -> set[str]:
        """All who are waited for."""
        return {party for way in self.alternatives for party in way}

    def can_end(self, waiting: set[str]) -> bool:
        """True if there is a way in which it ends though these parties go on waiting."""
        return not self.alternatives or any(waiting.isdisjoint(way) for way in self.alternatives)


class Waits:
    """All waits that are under way."""

    def __init__(self) -> None:
        self._waits: dict[int, _Wait] = {}
        #: In how many waits a party is waited for: most who wait are waited for by nobody, and close no circle.
        self._wanted: Counter[str] = Counter()
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._waits)

    def begin(self, waiter: str, on: Iterable[str], what: str) -> int:
        """Somebody begins to wait for others, all of them, for `what` ("the lease on src/"). A number to end it by.

        Raises `RefusedError`, with the cycle named, if one of them waits for the waiter, be it through others. To wait
        for oneself is a cycle as well.
        """
        return self._begin(_Wait(waiter, (dict.fromkeys(on, what),), what))

    def begin_any(self, waiter: str, alternatives: Sequence[Alternative]) -> int:
        """As `begin`, for what may come about in several ways. Without any, nobody is known to be waited for."""
        return self._begin(_Wait(waiter, tuple(alternatives)))

    def _begin(self, wait: _Wait) -> int:
        self._check(wait)
        self._numbers += 1
        self._put(self._numbers, wait)
        return self._numbers

    def change(self, number: int, on: Iterable[str]) -> None:
        """It is others that are waited for now. Raises as `begin` does, and then it is as it was."""
        self.change_any(number, [dict.fromkeys(on, self._waits[number].what)])

    def change_any(self, number: int, alternatives: Sequence[Alternative]) -> None:
        """As `change`, for what was begun by `begin_any`."""
        before = self._take(number)
        assert before is not None
        try:
            wait = replace(before, alternatives=tuple(alternatives))
            self._check(wait)
        except RefusedError:
            self._put(number, before)
            raise
        self._put(number, wait)

    def end(self, number: int) -> None:
        """It is over; again is no harm."""
        self._take(number)

    def _put(self, number: int, wait: _Wait) -> None:
        self._waits[number] = wait
        self._wanted.update(wait.parties)

    def _take(self, number: int) -> _Wait | None:
        wait = self._waits.pop(number, None)
        for party in wait.parties if wait is not None else ():
            self._wanted[party] -= 1
            if not self._wanted[party]:
                del self._wanted[party]
        return wait

    def _check(self, new: _Wait) -> None:
        way = self._way_back(new)
        if way is None:
            return
        told = "; ".join(f"{waiter} waits for {what}, which {party} has" for waiter, party, what in way)
        raise RefusedError(
            f"that wait would never end: {told}",
            "release what you hold, or do something else first",
            cycle=[waiter for waiter, _, _ in way],
            holder=way[0][1],
        )

    def _way_back(self, new: _Wait) -> list[tuple[str, str, str]] | None:
        """Each wait of a cycle: who waits, for whom, for what; None if there is no cycle."""
        if not self._wanted[new.waiter] and new.waiter not in new.parties:
            return None
        stuck = _never_ending([*self._waits.values(), new])
        if new not in stuck:
            return None
        # From the new waiter along those who are stuck, the shortest way first.
        ahead: list[list[tuple[str, str, str]]] = [[("", new.waiter, "")]]
        seen: set[str] = set()
        while ahead:
            way = ahead.pop(0)
            for wait in stuck:
                if wait.waiter != way[-1][1]:
                    continue
                for party, what in sorted(item for one in wait.alternatives for item in one.items()):
                    further = [*way, (wait.waiter, party, what)]
                    if party == new.waiter:
                        return further[1:]
                    if party not in seen:
                        seen.add(party)
                        ahead.append(further)
        return None  # it waits behind others that are stuck, which is theirs to be told


def _never_ending(waits: Sequence[_Wait]) -> list[_Wait]:
    """Those of the waits that cannot end, whatever those do who do not wait."""
    left = list(waits)
    while True:
        waiting = {wait.waiter for wait in left}
        stays = [wait for wait in left if not wait.can_end(waiting)]
        if len(stays) == len(left):
            return left
        left = stays
