"""Who may start now, of those who wait, and what the others wait for. Pure.

Who waits has a *turn*. A person's agents have turns one after the other, and whoever begins to wait gets a turn behind
the one that is being served: so in each round everybody has one agent, and nobody's hundred keep somebody else's one
from starting. An agent that waits for something of its own, such as another agent, keeps nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from corral.domain.admission_rules import DEFAULT_ADMISSION_RULES, AdmissionRules

#: An agent, by team and name.
Key = tuple[str, str]

#: Seconds for which an agent that runs, and is not ready yet, counts as starting up. One that waits for a person, who
#: is to trust a directory, must not keep everybody else from starting for good.
START_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One that waits to be started."""

    key: Key
    turn: int
    #: Unix time since when.
    since: float = 0.0
    #: What of its own it waits for, in words; empty if nothing of that kind keeps it.
    obstacle: str = ""
    #: It takes one of the places that `max_agents` counts.
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """What there is of one team."""

    rules: AdmissionRules = DEFAULT_ADMISSION_RULES
    #: Those that may be alive, of those that count.
    alive: int = 0
    #: Those that start up, of whatever kind.
    starting: int = 0
    #: Percent of the team's own memory limit that is free; None if it has none, or nobody can tell.
    free_memory: float | None = None


@dataclass(slots=True)
class Decision:
    """Who may start, in this order, and why the others may not."""

    start: list[Key] = field(default_factory=list)
    reasons: dict[Key, str] = field(default_factory=dict)
    #: Somebody waits for nothing but memory: nothing will tell when there is some, so somebody has to look again.
    short_of_memory: bool = False


def decide(
    waiting: Iterable[Waiting],
    teams: Mapping[str, Population],
    *,
    pressure: float | None = None,
    at_most: int | None = None,
) -> Decision:
    """Who may start now.

    `pressure` is that of the host's memory in percent; None if nobody can tell, and then it keeps nobody. No more than
    `at_most` are started: where memory was short a moment ago, one at a time, because what it takes shows late.
    """
    decision = Decision()
    alive = {name: team.alive for name, team in teams.items()}
    starting = {name: team.starting for name, team in teams.items()}
    for one in sorted(waiting, key=_in_turn):
        name = one.key[0]
        team = teams[name]
        reason = one.obstacle or _no_place(team.rules, alive[name], starting[name], counts=one.counts)
        if not reason:
            reason = _no_memory(team, pressure)
            if not reason and at_most is not None and len(decision.start) >= at_most:
                reason = "waits for its turn: memory was short a moment ago, and one is started after the other"
            decision.short_of_memory |= bool(reason)
        if reason:
            decision.reasons[one.key] = reason
            continue
        decision.start.append(one.key)
        alive[name] += one.counts
        starting[name] += 1
    return decision


def next_turn(person: str, waiting: Iterable[tuple[str, int]], served: int) -> int:
    """The turn of one more agent of a person. `waiting` are the others with their persons; `served` the last turn."""
    return max([served, *(turn for whose, turn in waiting if whose == person)]) + 1


def _in_turn(one: Waiting) -> tuple[int, float, Key]:
    return one.turn, one.since, one.key


def _no_place(rules: AdmissionRules, alive: int, starting: int, *, counts: bool) -> str:
    if counts and rules.max_agents and alive >= rules.max_agents:
        agents = "1 agent of the team runs" if alive == 1 else f"{alive} agents of the team run"
        return f"waits for a place: {agents}, and max_agents is {rules.max_agents}"
    if rules.start_at_once and starting >= rules.start_at_once:
        others = "1 does" if starting == 1 else f"{starting} do"
        return f"waits for others to start: {others}, and start_at_once is {rules.start_at_once}"
    return ""


def _no_memory(team: Population, pressure: float | None) -> str:
    rules = team.rules
    if rules.memory_pressure and pressure is not None and pressure >= rules.memory_pressure:
        return (
            f"waits for memory: somebody on this host waited for it {pressure:.0f} % of the last ten seconds, "
            f"and memory_pressure is {rules.memory_pressure}"
        )
    if rules.memory_headroom and team.free_memory is not None and team.free_memory < rules.memory_headroom:
        return (
            f"waits for memory: {team.free_memory:.0f} % of the team's limit are free, "
            f"and memory_headroom is {rules.memory_headroom}"
        )
    return ""
