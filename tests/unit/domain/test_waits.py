"""A wait that could never end is refused, with the cycle named; every other one is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import RefusedError
from corral.domain.waits import Waits


def test_a_cycle_is_named_with_who_waits_for_what() -> None:
    waits = Waits()
    waits.begin("shop/a", ["shop/b"], "the lease on src/")
    waits.begin("shop/b", ["ann"], "an answer")
    with pytest.raises(RefusedError) as caught:
        waits.begin("ann", ["shop/a"], "the lock deploy")
    assert caught.value.details == {"cycle": ["ann", "shop/a", "shop/b"]}
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
