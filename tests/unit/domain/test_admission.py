"""Who may start, in which order, and what the others are told."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from corral.domain.admission import Decision, Key, Population, Waiting, decide, next_turn
from corral.domain.admission_rules import AdmissionRules

NO_BOUNDS = Population()


def waiting(name: str, turn: int, *, team: str = "t", obstacle: str = "", counts: bool = True) -> Waiting:
    return Waiting(key=(team, name), turn=turn, obstacle=obstacle, counts=counts)


def of(**rules: int) -> Population:
    return Population(rules=AdmissionRules(**rules))


def started(decision: Decision) -> list[str]:
    return [name for _, name in decision.start]


def test_without_bounds_everybody_starts_by_turn() -> None:
    decision = decide([waiting("b", 2), waiting("a", 1)], {"t": NO_BOUNDS})
    assert started(decision) == ["a", "b"]
    assert decision.reasons == {}


def test_no_more_agents_run_than_may_and_a_service_is_no_agent() -> None:
    team = Population(rules=AdmissionRules(max_agents=2), alive=1)
    decision = decide([waiting("a", 1), waiting("b", 2), waiting("db", 3, counts=False)], {"t": team})
    assert started(decision) == ["a", "db"]
    assert decision.reasons["t", "b"] == "waits for a place: 2 agents of the team run, and max_agents is 2"
    assert not decision.short_of_memory


def test_one_that_is_in_the_way_is_spoken_of_as_one() -> None:
    full = Population(rules=AdmissionRules(max_agents=1), alive=1)
    busy = Population(rules=AdmissionRules(start_at_once=1), starting=1)
    decision = decide([waiting("a", 1, team="full"), waiting("b", 2, team="busy")], {"full": full, "busy": busy})
    assert decision.reasons["full", "a"] == "waits for a place: 1 agent of the team runs, and max_agents is 1"
    assert decision.reasons["busy", "b"] == "waits for others to start: 1 does, and start_at_once is 1"


def test_no_more_start_at_once_than_may() -> None:
    team = Population(rules=AdmissionRules(start_at_once=2), starting=1)
    decision = decide([waiting("a", 1), waiting("db", 2, counts=False)], {"t": team})
    assert started(decision) == ["a"]
    assert "start_at_once is 2" in decision.reasons["t", "db"]


def test_what_waits_for_another_agent_keeps_nobody_else() -> None:
    team = of(max_agents=1)
    decision = decide([waiting("api", 1, obstacle="waits for db to be ready"), waiting("b", 2)], {"t": team})
    assert started(decision) == ["b"]
    assert decision.reasons["t", "api"] == "waits for db to be ready"


def test_the_bounds_of_one_team_keep_nobody_of_another() -> None:
    full = Population(rules=AdmissionRules(max_agents=1), alive=1)
    decision = decide([waiting("a", 1, team="full"), waiting("a", 2, team="t")], {"full": full, "t": NO_BOUNDS})
    assert decision.start == [("t", "a")]


def test_nobody_starts_while_memory_is_short() -> None:
    decision = decide([waiting("a", 1)], {"t": of(memory_pressure=20)}, pressure=20.0)
    assert started(decision) == []
    assert "memory_pressure is 20" in decision.reasons["t", "a"]
    assert decision.short_of_memory
    assert started(decide([waiting("a", 1)], {"t": of(memory_pressure=20)}, pressure=19.9)) == ["a"]
    assert started(decide([waiting("a", 1)], {"t": of(memory_pressure=0)}, pressure=90.0)) == ["a"]


def test_what_nobody_can_tell_keeps_nobody() -> None:
    assert started(decide([waiting("a", 1)], {"t": NO_BOUNDS}, pressure=None)) == ["a"]


def test_a_team_needs_room_below_its_own_limit() -> None:
    tight = Population(free_memory=9.0)
    decision = decide([waiting("a", 1)], {"t": tight})
    assert decision.short_of_memory
    assert "9 % of the team's limit are free" in decision.reasons["t", "a"]
    assert started(decide([waiting("a", 1)], {"t": Population(free_memory=10.0)})) == ["a"]


def test_after_a_shortage_one_is_started_at_a_time() -> None:
    line = [waiting("a", 1), waiting("b", 2)]
    decision = decide(line, {"t": NO_BOUNDS}, at_most=1)
    assert started(decision) == ["a"]
    assert decision.short_of_memory, "somebody has to look again"
    assert started(decide(line, {"t": NO_BOUNDS}, at_most=0)) == []


def test_in_each_round_everybody_has_one() -> None:
    line: list[tuple[str, int]] = []
    for person in ("ann", "ann", "ann", "ben"):
        line.append((person, next_turn(person, line, served=4)))
    assert line == [("ann", 5), ("ann", 6), ("ann", 7), ("ben", 5)]


PEOPLE = st.sampled_from(["ann", "ben", "cleo"])


@given(
    rules=st.builds(
        AdmissionRules,
        max_agents=st.integers(0, 4),
        start_at_once=st.integers(0, 4),
        memory_pressure=st.integers(0, 100),
        memory_headroom=st.integers(0, 100),
    ),
    alive=st.integers(0, 5),
    starting=st.integers(0, 5),
    free=st.none() | st.floats(0, 100),
    pressure=st.none() | st.floats(0, 100),
    turns=st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.booleans()), max_size=12),
)
def test_no_bound_is_ever_passed_and_everybody_is_told_something(
    rules: AdmissionRules,
    alive: int,
    starting: int,
    free: float | None,
    pressure: float | None,
    turns: Sequence[tuple[int, bool, bool]],
) -> None:
    line = [
        waiting(f"a{at}", turn, counts=counts, obstacle="waits for db" if kept else "")
        for at, (turn, counts, kept) in enumerate(turns)
    ]
    team = Population(rules=rules, alive=alive, starting=starting, free_memory=free)
    decision = decide(line, {"t": team}, pressure=pressure)
    by_key = {one.key: one for one in line}
    admitted = [by_key[key] for key in decision.start]
    assert set(decision.start) | set(decision.reasons) == set(by_key)
    assert not set(decision.start) & set(decision.reasons)
    assert not any(one.obstacle for one in admitted)
    more = sum(one.counts for one in admitted)
    assert not (rules.max_agents and more) or alive + more <= rules.max_agents
    assert not (rules.start_at_once and admitted) or starting + len(admitted) <= rules.start_at_once
    short = rules.memory_pressure and pressure is not None and pressure >= rules.memory_pressure
    tight = rules.memory_headroom and free is not None and free < rules.memory_headroom
    assert not (admitted and (short or tight))
    # Whoever could have had a place that somebody behind got, got one.
    for one in line:
        if one.key in decision.reasons and not one.obstacle:
            behind = [other for other in admitted if other.turn > one.turn and other.counts == one.counts]
            assert not behind


@given(arrivals=st.lists(st.tuples(PEOPLE, st.integers(1, 5)), max_size=12), places=st.integers(1, 3))
def test_nobody_starves_however_many_others_keep_coming(arrivals: Sequence[tuple[str, int]], places: int) -> None:
    """One of `dora`'s waits. Others come in any number after it; each round `places` start, and end at once."""
    line: dict[Key, tuple[str, int]] = {}
    served = 0

    def join(person: str, name: str) -> None:
        line["t", name] = (person, next_turn(person, line.values(), served))

    for at in range(20):
        join("ann", f"before{at}")
    join("dora", "hers")
    rounds, people = 0, {"ann", "dora", "ben", "cleo"}
    for person, count in [*arrivals, *[("ann", 3)] * 40]:
        for more in range(count):
            join(person, f"{person}{rounds}.{more}")
        ready = [Waiting(key=key, turn=turn) for key, (_, turn) in line.items()]
        decision = decide(ready, {"t": Population(rules=AdmissionRules(max_agents=places))})
        assert len(decision.start) == min(places, len(ready))
        for key in decision.start:
            served = max(served, line.pop(key)[1])
        rounds += 1
        if ("t", "hers") not in line:
            break
    assert ("t", "hers") not in line
    assert rounds <= len(people), "in each round of turns everybody has one at most"
