"""Whether a history of one register can have happened in some order that respects time: linearizability.

The search is that of Wing and Gong: of all operations that may be next (those that began before every other that is
left had ended) one is tried after the other, and the register must have let it happen. That a set of operations and a
state were tried before is remembered, so nothing is tried twice (Lowe). It is sound and complete: it says no if and
only if there is no such order. An operation whose end nobody was told may come anywhere after its beginning, or never.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True)
class Step(Generic[State]):
    """An operation on the register: the states that it may lead to, none if it cannot happen in the one there is."""

    name: str
    began: float
    ended: float
    leads_to: Callable[[State], Sequence[State]]

    @property
    def is_known(self) -> bool:
        return self.ended < math.inf


def stuck(steps: Sequence[Step[State]], start: State) -> list[Step[State]] | None:
    """None if there is such an order; else what was known and still left when the search had got furthest."""
    order = sorted(steps, key=lambda step: step.began)
    known = sum(1 << number for number, step in enumerate(order) if step.is_known)
    if not known:
        return None
    tried = {(0, start)}
    ahead = [(0, start)]
    furthest = 0
    while ahead:
        done, state = ahead.pop()
        if done & known == known:
            return None
        if (done & known).bit_count() > (furthest & known).bit_count():
            furthest = done
        for number in _may_be_next(order, done):
            for following in order[number].leads_to(state):
                reached = (done | 1 << number, following)
                if reached not in tried:
                    tried.add(reached)
                    ahead.append(reached)
    return [step for number, step in enumerate(order) if step.is_known and not furthest >> number & 1]


def _may_be_next(order: Sequence[Step[State]], done: int) -> list[int]:
    """Those that began before every other that is left had ended. The last of them is tried first."""
    found: list[int] = []
    earliest = math.inf
    for number, step in enumerate(order):
        if step.began > earliest:
            break
        if not done >> number & 1:
            found.append(number)
            earliest = min(earliest, step.ended)
    # Whatever is unknown is tried last, and what began first is tried first: mostly that is how it was.
    return sorted(found, key=lambda number: (order[number].is_known, -number))
