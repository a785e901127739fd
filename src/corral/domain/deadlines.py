"""Times at which things are over, with the next one at hand."""

from __future__ import annotations

import heapq


class Deadlines:
    """By name. Times are of a clock that only goes on."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}
        #: All that were ever set and are not past; those that were changed since are passed over.
        self._heap: list[tuple[float, str]] = []

    def __contains__(self, name: str) -> bool:
        return name in self._at

    def get(self, name: str) -> float | None:
        """When it is over; None if that is not set."""
        return self._at.get(name)

    def set(self, name: str, at: float) -> None:
        """It is over then, and not when it was before."""
        self._at[name] = at
        heapq.heappush(self._heap, (at, name))
        if len(self._heap) > 2 * len(self._at) + 1000:
            self._heap = [(at, name) for name, at in self._at.items()]
            heapq.heapify(self._heap)

    def clear(self, name: str) -> None:
        """It is not over at any time; again is no harm."""
        self._at.pop(name, None)

    def next(self) -> float | None:
        """The next time at which something is over."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def past(self, now: float) -> list[str]:
        """What is over by now, the first first; each is told once."""
        found = []
        while (at := self.next()) is not None and at <= now:
            _, name = heapq.heappop(self._heap)
            del self._at[name]
            found.append(name)
        return found
