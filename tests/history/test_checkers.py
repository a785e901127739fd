"""The checkers find what is wrong, and nothing else: small histories by hand, right ones and wrong ones."""

import io
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history import check_leases, check_log, check_messages, check_tasks, check_values
from tests.history.linear import Step, stuck
from tests.history.record import FAIL, OK, UNKNOWN, Operation, Recorder, read

FILES = {"src/": {"a", "b"}, "a": {"a"}, "b": {"b"}}


def op(
    client: str, what: str, began: float, ended: float, told: Any = None, outcome: str = OK, **asked: Any
) -> Operation:
    return Operation(client=client, what=what, began=began, ended=ended, outcome=outcome, asked=asked, told=told)


def unknown(client: str, what: str, began: float, **asked: Any) -> Operation:
    return op(client, what, began, math.inf, None, UNKNOWN, **asked)


# Records


def test_an_operation_that_was_cut_off_has_no_end() -> None:
    file = io.StringIO()
    recorder = Recorder(file, "a")
    recorder.end(recorder.begin("get", {"key": "k"}), OK, {"revision": 1})
    recorder.end(recorder.begin("get", {"key": "k"}), UNKNOWN, None)
    recorder.begin("get", {"key": "k"})
    done, lost, cut_off = read([*file.getvalue().splitlines(keepends=True), '{"number": 7, "cl'])
    assert (done.outcome, done.told) == (OK, {"revision": 1})
    assert done.began <= done.ended < math.inf
    assert (lost.outcome, lost.ended) == (cut_off.outcome, cut_off.ended) == (UNKNOWN, math.inf)


# Linearizability


def write(value: int, began: float, ended: float) -> Step[int]:
    return Step(f"write {value}", began, ended, lambda _: [value])


def see(value: int, began: float, ended: float) -> Step[int]:
    return Step(f"see {value}", began, ended, lambda state: [state] if state == value else [])


@pytest.mark.parametrize(
    "steps",
    [
        [write(1, 0, 1), see(1, 2, 3)],
        [write(1, 0, 4), see(0, 1, 2), see(1, 2.5, 3)],
        [write(1, 0, 5), write(2, 0, 5), see(2, 6, 7)],
        [write(1, 0, 5), write(2, 0, 5), see(1, 6, 7)],
        [write(1, 0, math.inf), see(0, 1, 2), see(1, 50, 51)],
        [write(1, 0, math.inf), see(0, 1, 2), see(0, 50, 51)],
    ],
)
def test_what_can_have_happened(steps: list[Step[int]]) -> None:
    assert stuck(steps, 0) is None


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([write(1, 0, 1), see(0, 2, 3)], ["see 0"]),  # a write is lost
        ([write(1, 0, 9), see(1, 1, 2), see(0, 3, 4)], ["see 0"]),  # what was seen is unseen
        ([write(1, 0, 1), write(2, 2, 3), see(1, 4, 5)], ["see 1"]),  # an old value comes back
        ([write(1, 5, math.inf), see(1, 1, 2)], ["see 1"]),  # seen before it was asked for
        ([write(1, 0, math.inf), see(1, 1, 2), see(0, 3, 4), see(1, 5, 6)], ["see 0", "see 1"]),  # it happens once
    ],
)
def test_what_cannot_have_happened(steps: list[Step[int]], left: list[str]) -> None:
    found = stuck(steps, 0)
    assert found is not None
    assert [step.name for step in found] == left


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.floats(0, 2), st.floats(0, 2)), max_size=12))
def test_every_history_of_a_real_register_is_linearizable(wishes: list[tuple[int, bool, float, float]]) -> None:
    steps, value = [], 0
    for moment, (number, is_write, before, after) in enumerate(wishes):
        # It happens at `moment`, and seems to take longer.
        value = number if is_write else value
        make = write if is_write else see
        steps.append(make(value, moment - before, moment + after))
    assert stuck(steps, 0) is None


# Values


def get(client: str, began: float, ended: float, value: str | None, revision: int) -> Operation:
    if value is None:
        return op(client, "get", began, ended, {"code": "not_found"}, FAIL, key="k")
    return op(client, "get", began, ended, {"value": value, "revision": revision}, key="k")


def put(client: str, began: float, ended: float, value: str, revision: int, on: int | None = None) -> Operation:
    compared = {} if on is None else {"k": on}
    told = {"revision": revision, "changed": ["k"]}
    return op(client, "transact", began, ended, told, puts={"k": value}, drops=[], if_revisions=compared)


def lost_put(client: str, began: float, ended: float, value: str, on: int, there: int) -> Operation:
    told = {"key": "k", "revision": there}
    return op(client, "transact", began, ended, told, FAIL, puts={"k": value}, drops=[], if_revisions={"k": on})


def test_values_as_they_should_be() -> None:
    history = [
        put("a", 0, 1, "x", 5, on=0),
        lost_put("b", 0.5, 2, "y", 0, there=5),
        unknown("b", "transact", 2, puts={"k": "z"}, drops=[], if_revisions={"k": 5}),
        get("a", 3, 4, "x", 5),
        get("a", 5, 6, "z", 7),
        op("b", "transact", 7, 8, {"revision": 9}, puts={}, drops=["k"], if_revisions={"k": 7}),
        get("a", 9, 10, None, 0),
    ]
    assert check_values.problems(history) == []


@pytest.mark.parametrize(
    "history",
    [
        [put("a", 0, 1, "x", 5), get("b", 2, 3, None, 0)],
        [put("a", 0, 1, "x", 5, on=0), put("b", 2, 3, "y", 6, on=0)],  # two compares that both won
        [put("a", 0, 1, "x", 5, on=0), lost_put("b", 2, 3, "y", 5, there=4)],
        # Seen, and refused for it, and then it never was: a crash took what was told already.
        [
            put("a", 0, 1, "x", 5),
            unknown("a", "transact", 2, puts={"k": "y"}, drops=[], if_revisions={}),
            get("b", 3, 4, "y", 6),
            get("b", 5, 6, "x", 5),
        ],
    ],
)
def test_values_as_they_must_not_be(history: list[Operation]) -> None:
    assert check_values.problems(history)


def seen(revision: int, value: str) -> Operation:
    told = {"revision": revision, "changes": [{"key": "k", "value": value}]}
    return op("w", "seen", revision, revision, told, after=0)


def test_watching() -> None:
    history = [put("a", 0, 1, "x", 5), put("a", 2, 3, "y", 6), seen(5, "x"), seen(6, "y")]
    end = [one.told for one in history if one.what == "seen"]
    assert check_values.watch_problems(history, end) == []
    assert check_values.watch_problems([history[0], history[1], history[3]], end) == ["w never saw 5"]
    assert check_values.watch_problems([*history, history[3]], end) == ["w was given 6 after 6"]
    assert "which is lost or torn" in check_values.watch_problems(history[:2], end[:1])[0]
    assert "not so at the end" in check_values.watch_problems([seen(5, "other")], end[:1])[0]


# Topics


def test_topics() -> None:
    end = [{"revision": 3, "text": "x"}, {"revision": 4, "text": "y"}]
    published = [
        op("a", "publish", 0, 1, {"revision": 3}, text="x"),
        unknown("a", "publish", 1, text="y"),
        unknown("a", "publish", 2, text="z"),
    ]
    heard = [op("r", "heard", 5, 5, entry, after=0) for entry in end]
    assert check_log.problems([*published, *heard], end) == []
    assert check_log.problems(published, end[1:]) == ["'x' was acknowledged as 3 and is lost"]
    assert check_log.problems([*published, heard[1]], end) == ["r was not given what is there up to 4"]
    assert check_log.problems([*published, *heard, heard[1]], end) == ["r was given 4 after 4"]
    doubled = [*end, {"revision": 9, "text": "y"}]
    assert check_log.problems(published, doubled) == ["'y' is there 2 times"]
    refused = op("a", "publish", 0, 1, {}, FAIL, text="y")
    assert check_log.problems([refused], end) == ["'y' was refused and is there"]


# Leases


def acquire(client: str, began: float, ended: float, token: int, *patterns: str, shared: bool = False) -> Operation:
    told = {"lease": f"l{token}", "token": token}
    return op(client, "acquire", began, ended, told, patterns=list(patterns), shared=shared)


def release(client: str, began: float, ended: float, token: int) -> Operation:
    return op(client, "release", began, ended, {}, lease=f"l{token}")


def leases(*history: Operation, held: set[str] | None = None) -> list[str]:
    return check_leases.problems(history, FILES, held or set())


def test_leases_as_they_should_be() -> None:
    assert not leases(
        acquire("a", 0, 1, 1, "src/"),
        release("a", 2, 5, 1),
        acquire("b", 0, 3, 2, "a"),  # told before the other was told that it is free, but after it was given back
        release("b", 6, 7, 2),
        acquire("a", 8, 9, 3, "a", shared=True),
        acquire("b", 8, 9, 4, "a", shared=True),
        acquire("c", 8, 9, 5, "b"),
        held={"l3", "l4", "l5"},
    )


def test_leases_as_they_must_not_be() -> None:
    both = [acquire("a", 0, 1, 1, "src/"), acquire("b", 2, 3, 2, "b")]
    assert leases(*both, held={"l1", "l2"}) == ["a (l1) and b (l2) held ['b'] at once"]
    assert leases(both[0]) == ["l1 of a is gone, and nobody gave it back"]
    assert leases(both[0], release("a", 2, 3, 1), held={"l1"}) == ["l1 was given back and is there again"]
    shared = [acquire("a", 0, 1, 1, "a", shared=True), acquire("b", 2, 3, 2, "a")]
    assert leases(*shared, held={"l1", "l2"}) == ["a (l1) and b (l2) held ['a'] at once"]


def test_tokens_only_grow() -> None:
    again = [acquire("a", 0, 1, 5, "a"), release("a", 2, 3, 5), acquire("b", 4, 5, 5, "a")]
    assert "token 5 was given out more than once" in leases(*again, held={"l5"})
    smaller = [acquire("a", 0, 1, 5, "a"), release("a", 2, 3, 5), acquire("b", 4, 5, 4, "b")]
    assert leases(*smaller, held={"l4"}) == ["b got token 4 after 5 had been given out"]
    crossing = [acquire("a", 0, 9, 5, "a"), acquire("b", 0, 9, 4, "b")]
    assert not leases(*crossing, held={"l4", "l5"})


def lock(client: str, began: float, ended: float, token: int) -> Operation:
    return op(client, "lock", began, ended, {"lease": f"l{token}", "token": token}, name="build", ttl=2.0)


def test_who_hears_of_a_lock_when_its_time_is_over_holds_nothing() -> None:
    assert not leases(lock("a", 0, 9, 1), lock("b", 3, 4, 2), op("b", "release", 4.5, 5, {}, lease="l2"))


def test_a_lock_is_in_the_way_of_whoever_has_it_as_well() -> None:
    assert leases(lock("a", 0, 1, 1), lock("a", 0, 1.5, 2)) == ["a (l1) and a (l2) held ['lock build'] at once"]
    assert not leases(lock("a", 0, 1, 1), op("a", "release", 1.2, 1.3, {}, lease="l1"), lock("a", 1.2, 1.5, 2))


def test_a_lock_is_sure_for_its_time_after_it_was_asked_for_or_renewed() -> None:
    assert not leases(lock("a", 0, 1, 1), lock("b", 0, 2.1, 2))
    assert leases(lock("a", 0, 1, 1), lock("b", 0, 1.5, 2)) == ["a (l1) and b (l2) held ['lock build'] at once"]
    renewed = op("a", "renew", 1.9, 2, {}, lease="l1", ttl=2.0)
    assert leases(lock("a", 0, 1, 1), renewed, lock("b", 1.5, 3, 2)) == [
        "a (l1) and b (l2) held ['lock build'] at once"
    ]


# Tasks


def claim(client: str, began: float, ended: float, token: int) -> Operation:
    return op(client, "claim", began, ended, {"task": "t1", "token": token}, ttl=10.0)


def finish(client: str, began: float, ended: float, token: int, what: str = "done") -> Operation:
    return op(client, what, began, ended, {}, task="t1", token=token, result=client)


ADDED = op("a", "add", 0, 1, {"task": "t1"}, key="k")
DONE = {"t1": {"state": "done", "result": "a", "key": "k"}}


def test_tasks_as_they_should_be() -> None:
    again = op("a", "add", 1, 2, {"task": "t1"}, key="k")
    history = [
        ADDED,
        again,
        claim("b", 2, 3, 2),
        finish("b", 4, 5, 2, "fail"),
        claim("a", 4, 4.5, 3),
        finish("a", 6, 7, 3),
    ]
    assert check_tasks.problems(history, DONE) == []
    lapsed = [ADDED, claim("b", 2, 3, 2), claim("a", 12.5, 13, 3), finish("a", 14, 15, 3)]
    assert check_tasks.problems(lapsed, DONE) == []


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([ADDED, claim("a", 2, 3, 2), claim("b", 3, 4, 3), finish("a", 5, 6, 2)], "a and b had t1 at once"),
        (
            [ADDED, claim("a", 2, 3, 2), claim("b", 13, 14, 3), finish("a", 15, 16, 2)],
            "done of t1 with token 2 came through, though it is over",
        ),
        (
            [ADDED, claim("a", 2, 3, 2), finish("a", 4, 5, 2), claim("b", 6, 7, 3)],
            "t1 was claimed by b after it was done",
        ),
        (
            [ADDED, claim("a", 0, 1, 2), finish("a", 2, 3, 2), finish("a", 4, 5, 2)],
            "t1 was done 2 times",
        ),
        ([ADDED, claim("b", 2, 3, 2), finish("b", 4, 5, 2)], "t1 was done by b, and is done with 'a'"),
        ([ADDED, op("a", "add", 1, 2, {"task": "t2"}, key="k")], "t2 was added and is lost"),
        ([ADDED, op("a", "add", 1, 2, {"task": "t2"}, key="k")], "'k' was added as t1 and t2"),
    ],
)
def test_tasks_as_they_must_not_be(history: list[Operation], problem: str) -> None:
    assert problem in check_tasks.problems(history, DONE)


def test_a_task_that_is_never_done() -> None:
    assert check_tasks.problems([ADDED], {"t1": {"state": "dead", "result": "", "key": "k"}})
    assert check_tasks.problems([], {**DONE, "t2": DONE["t1"]}) == ["'k' is there 2 times"]


# Messages


def test_messages() -> None:
    sent = op("a", "send", 0, 1, {"message": "m1"}, to=["b"], text="x")
    there = [{"message": "m1", "preview": "x"}]
    ack = op("b", "ack", 2, 3, {}, message="m1")
    assert check_messages.problems([sent], {"b": there}) == []
    assert check_messages.problems([sent, ack], {"b": []}) == []
    assert check_messages.problems([sent, unknown("b", "ack", 2, message="m1")], {"b": []}) == []
    assert check_messages.problems([sent], {"b": []}) == ["m1 to b is lost"]
    assert check_messages.problems([sent, ack], {"b": there}) == ["b acked m1, and has it again"]
    looked = op("b", "inbox", 4, 5, {"messages": there})
    assert check_messages.problems([sent, ack, looked], {"b": []}) == ["b acked m1, and saw it again"]
    doubled = [*there, {"message": "m2", "preview": "x"}]
    assert check_messages.problems([sent], {"b": doubled}) == ["b has 'x' 2 times"]
    refused = op("a", "send", 0, 1, {}, FAIL, to=["b"], text="x")
    assert check_messages.problems([refused], {"b": there}) == ["'x' was refused and is with b"]
