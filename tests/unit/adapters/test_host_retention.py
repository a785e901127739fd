"""Which records go when there are too many, whatever is over and however few may be kept."""

from hypothesis import given
from hypothesis import strategies as st

from corral.adapters.subprocess.host_retention import MOST_FRESH, oldest_first, too_many
from corral.adapters.subprocess.records import ProcessRecord


def record(number: int, agent: str = "a") -> ProcessRecord:
    known = {"process": f"{agent}{number}", "agent": agent, "command": "", "pid": 0, "start": 0, "boot": "", "host": 0}
    more = {"cgroup": "", "output": "", "tty": False, "stdin": False, "started_at": 0.0, "ended_at": float(number)}
    return ProcessRecord({**known, **more, "keep_head": 0, "keep_tail": 0, "keep_records": 1, "keep_disk": 1})


def gone(count: int, most: int, fresh: int = 0) -> list[int]:
    """Which of so many go, by the order in which they ended, if the last of them are fresh."""
    over = [record(number) for number in range(count)]
    still_fresh = {one.process for one in over[count - fresh :]}
    return [int(one.process[1:]) for one in too_many(over, most, still_fresh)]


@given(count=st.integers(0, 500), most=st.integers(1, 400))
def test_the_longest_ended_go_and_no_more_than_need_to(count: int, most: int) -> None:
    going = gone(count, most)
    assert going == list(range(len(going)))
    left = count - len(going)
    if count > most:
        assert most - min(20, most // 10) == left
    else:
        assert going == []


@given(count=st.integers(0, 500), most=st.integers(1, 400), fresh=st.integers(0, 500))
def test_fresh_ones_stay_while_they_are_few(count: int, most: int, fresh: int) -> None:
    fresh = min(fresh, count)
    going = set(gone(count, most, fresh))
    assert going <= set(gone(count, most))
    assert count - len(going) <= max(most, MOST_FRESH)
    if count <= MOST_FRESH:
        assert not going & set(range(count - fresh, count))
        assert set(gone(count, most)) - going <= set(range(count - fresh, count))


def test_as_many_as_usual_go_by_twenty_be_they_fresh_or_not() -> None:
    assert gone(200, 200, fresh=200) == []
    assert gone(201, 200, fresh=201) == gone(201, 200) == list(range(21))


def test_few_are_kept_exactly() -> None:
    assert gone(3, 3) == []
    assert gone(4, 3) == [0]
    assert gone(9, 1) == list(range(8))


def test_each_agent_has_its_own() -> None:
    over = oldest_first([record(1), record(2), record(1, "b"), record(0, "b"), record(9, "c")])
    assert {one.process for one in too_many(over, 1, set())} == {"a1", "b0"}
