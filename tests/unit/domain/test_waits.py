"""A wait that could never end is refused, with the cycle named; every other one is not."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corral.domain.errors import RefusedError
from corral.domain.waits import Waits


def test_a_cycle_is_named_with_who_waits_for_what() -> None:
    waits = Waits()
    waits.begin("shop/a", ["shop/b"], "the lease on src/")
    waits.begin("shop/b", ["ann"], "an answer")
    with pytest.raises(RefusedError) as caught:
        waits.begin("ann", ["shop/a"], "the lock deploy")
    assert caught.value.details == {"cycle": ["ann", "shop/a", "shop/b"], "holder": "shop/a"}
    assert "shop/a waits for the lease on src/, which shop/b has" in caught.value.message


def test_to_wait_for_oneself_is_a_cycle() -> None:
    with pytest.raises(RefusedError):
        Waits().begin("a", ["b", "a"], "x")


def test_what_is_over_or_refused_stands_in_nobodys_way() -> None:
    waits = Waits()
    first = waits.begin("a", ["b"], "x")
    with pytest.raises(RefusedError):
        waits.begin("b", ["a"], "y")
    waits.end(first)
    waits.end(first)
    waits.begin("b", ["a"], "y")


def test_a_wait_that_changes_into_a_cycle_stays_as_it_was() -> None:
    waits = Waits()
    first = waits.begin("a", ["b"], "x")
    waits.begin("c", ["a"], "y")
    with pytest.raises(RefusedError):
        waits.change(first, ["c"])
    with pytest.raises(RefusedError):
        waits.begin("b", ["a"], "z")
    waits.change(first, ["d"])
    waits.begin("b", ["a"], "z")


@given(st.lists(st.tuples(st.integers(0, 5), st.sets(st.integers(0, 5), min_size=1, max_size=3)), max_size=12))
def test_what_was_let_through_has_no_cycle_and_what_was_not_would_have_one(wanted: list[tuple[int, set[int]]]) -> None:
    waits, edges = Waits(), set[tuple[int, int]]()

    def reach(start: int, among: set[tuple[int, int]]) -> set[int]:
        found, ahead = set[int](), [start]
        while ahead:
            here = ahead.pop()
            for one, other in among:
                if one == here and other not in found:
                    found.add(other)
                    ahead.append(other)
        return found

    for waiter, on in wanted:
        new = edges | {(waiter, other) for other in on}
        cyclic = waiter in reach(waiter, new)
        try:
            waits.begin(str(waiter), map(str, on), "x")
        except RefusedError:
            assert cyclic
        else:
            assert not cyclic
            edges = new


def test_one_of_several_ways_is_hope_enough() -> None:
    waits = Waits()
    waits.begin("b", ["a"], "the lease on src/")
    waits.begin_any("a", [{"b": "t1"}, {"c": "t2"}])
    with pytest.raises(RefusedError) as caught:
        waits.begin("c", ["a"], "the lock deploy")
    assert caught.value.details["cycle"] == ["c", "a"]
    with pytest.raises(RefusedError):
        Waits().begin_any("a", [{"a": "t1"}, {"b": "t2", "a": "t3"}])
    Waits().begin_any("a", [])


def test_a_cycle_over_everything_that_can_be_waited_for_is_named() -> None:
    waits = Waits()
    waits.begin("shop/a", ["shop/b"], "the lease on src/")
    waits.begin("shop/b", ["shop/c"], "the lock deploy")
    task = waits.begin_any("shop/c", [{"shop/d": "t1, which t2 needs"}, {"shop/d": "t3, which t4 needs"}])
    with pytest.raises(RefusedError) as caught:
        waits.begin("shop/d", ["shop/a"], "a message")
    assert caught.value.details["cycle"] == ["shop/d", "shop/a", "shop/b", "shop/c"]
    assert "shop/c waits for t1, which t2 needs, which shop/d has" in caught.value.message
    waits.change_any(task, [])
    waits.begin("shop/d", ["shop/a"], "a message")
    with pytest.raises(RefusedError):
        waits.change_any(task, [{"shop/d": "t1"}])


_ALTERNATIVES = st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=2), max_size=3)


@example([(1, [{0}]), (0, [{1}, {2}]), (2, [{0}])])
@given(st.lists(st.tuples(st.integers(0, 4), _ALTERNATIVES), max_size=10))
def test_nobody_who_was_let_wait_can_be_stuck_for_good(wanted: list[tuple[int, list[set[int]]]]) -> None:
    """Whoever does not wait goes on, and then who waits for it; in the end nobody is left. What is refused would be."""
    waits, known = Waits(), list[tuple[int, list[set[int]]]]()

    def stuck(among: list[tuple[int, list[set[int]]]]) -> bool:
        left = list(among)
        while True:
            waiting = {waiter for waiter, _ in left}
            ends = [one for one in left if not one[1] or any(way.isdisjoint(waiting) for way in one[1])]
            if not ends:
                return bool(left)
            left = [one for one in left if one not in ends]

    for waiter, ways in wanted:
        # Who has several waits of its own may end one and not the other: then more than a cycle is at stake.
        if any(one == waiter for one, _ in known):
            continue
        new = [*known, (waiter, ways)]
        try:
            waits.begin_any(str(waiter), [{str(party): "x" for party in way} for way in ways])
        except RefusedError:
            assert stuck(new)
        else:
            assert not stuck(new)
            known = new
