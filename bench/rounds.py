"""Taking turns: A, B, C, A, B, C … so that whatever the machine does meanwhile happens to all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ratio:
    """How one contestant compares to another: the median over the rounds, and the middle half of them."""

    of: str
    to: str
    median: float
    low: float
    high: float
    goal: str = ""
    met: bool | None = None


@dataclass
class Times:
    """The seconds that each contestant took, round by round."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """The middle one of a contestant's times."""
        return statistics.median(self.seconds[name])

    def ratio(self, of: str, to: str, *, at_most: float | None = None, at_least: float | None = None) -> Ratio:
        """Compare two contestants round by round: what slowed one of a pair down was there for the other, too."""
        pairs = [a / b for a, b in zip(self.seconds[of], self.seconds[to], strict=True)]
        median = statistics.median(pairs)
        low, high = _middle_half(pairs)
        if at_most is not None:
            return Ratio(of, to, median, low, high, f"≤ {at_most:g}", median <= at_most)
        if at_least is not None:
            return Ratio(of, to, median, low, high, f"≥ {at_least:g}", median >= at_least)
        return Ratio(of, to, median, low, high)


def take_turns(contestants: Mapping[str, Callable[[], float]], rounds: int, note: Callable[[str], None]) -> Times:
    """Let every contestant run once a round, after one round that does not count; each returns the seconds it took."""
    times = Times({name: [] for name in contestants})
    for number in range(rounds + 1):
        for name, run in contestants.items():
            note(f"round {number} of {rounds}: {name}" if number else f"warm-up: {name}")
            seconds = run()
            if number:
                times.seconds[name].append(seconds)
    return times


def _middle_half(values: list[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
