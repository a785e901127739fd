"""Who has the most gives up the most, and who has little keeps it."""

from hypothesis import given
from hypothesis import strategies as st

from corral.domain.shares import given_up


def test_who_has_little_loses_nothing() -> None:
    assert given_up({"ann": 5, "ben": 1000}, 100) == {"ben": 905}
    assert given_up({"ann": 60, "ben": 100, "eve": 300}, 200) == {"ben": 30, "eve": 230}
    assert given_up({"ann": 7}, 3) == {"ann": 4}
    assert given_up({"ann": 7, "ben": 3}, 10) == {}
    assert given_up({}, 10) == {}


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 1000), max_size=8), st.integers(0, 3000))
def test_no_more_is_left_than_may_be_and_nobody_is_worse_off_than_another(has: dict[str, int], most: int) -> None:
    lost = given_up(has, most)
    left = {person: amount - lost.get(person, 0) for person, amount in has.items()}
    assert all(0 < amount <= has[person] for person, amount in lost.items())
    assert sum(left.values()) == min(most, sum(has.values()))
    for person in lost:
        assert left[person] >= max(left.values()) - 1
