"""Messages on their way: whose turn it is, what is kept, and what can still change."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from corral.domain import sends
from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.records import Who
from corral.domain.sends import (
    ENTERING,
    FAILED,
    OBSERVED,
    PASTED,
    PASTING,
    PROVING,
    QUEUED,
    SUBMITTED,
    UNKNOWN,
    Line,
    Send,
    digest,
)
from tests.support.records import PERSON


def message(number: int, agent: str = "a", text: str = "hello", **changes: object) -> Send:
    one = Send(
        number=number,
        message=f"m{number}",
        team="shop",
        agent=agent,
        by=PERSON,
        bytes=len(text),
        sha256="",
        digest=digest(text),
        time=float(number),
    )
    return replace(one, **changes)  # type: ignore[arg-type]


def test_each_agent_gets_one_at_a_time_in_order() -> None:
    line = Line()
    for number, agent in enumerate("aab", 1):
        line.add(message(number, agent))
    assert [line.first(("shop", agent)).number for agent in "ab"] == [1, 3]  # type: ignore[union-attr]
    line.change(message(1, state=SUBMITTED, step=PROVING))
    assert line.first(("shop", "a")).number == 1  # type: ignore[union-attr]
    line.change(message(1, state=OBSERVED))
    assert line.first(("shop", "a")).number == 2  # type: ignore[union-attr]
    line.change(message(2, state=FAILED))
    assert line.first(("shop", "a")) is None
    assert line.agents() == [("shop", "b")]


@pytest.mark.parametrize(
    ("changes", "over"),
    [
        ({}, False),
        ({"step": PASTING}, False),
        ({"state": PASTED}, False),
        ({"state": PASTED, "enter": False}, True),
        ({"state": PASTED, "step": ENTERING}, False),
        ({"state": SUBMITTED, "step": PROVING}, False),
        ({"state": SUBMITTED}, True),
        ({"state": UNKNOWN}, True),
    ],
)
def test_when_nothing_will_be_done_any_more(changes: dict[str, object], over: bool) -> None:
    assert replace(message(1), **changes).is_over is over  # type: ignore[arg-type]


def test_how_far_one_got() -> None:
    one = message(1, state=SUBMITTED)
    assert [one.reached(state) for state in sends.WAY] == [True, True, True, False]
    assert not message(1, state=UNKNOWN).reached(QUEUED)
    assert not message(1).was_begun
    assert message(1, step=PASTING).was_begun


def test_what_was_on_its_way_is_so_again_after_a_restart() -> None:
    kept = [message(3), message(1, state=OBSERVED), message(2, step=PASTING)]
    line = Line(kept)
    assert line.first(("shop", "a")) == kept[2]
    assert line.get("m1") == kept[1]


def test_a_line_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sends, "MOST_WAITING", 2)
    line = Line([message(1), message(2)])
    with pytest.raises(RefusedError, match="2 messages wait for a already") as refused:
        line.add(message(3))
    assert refused.value.remedy.startswith("corral send --status m1")
    line.add(message(4, "b"))
    monkeypatch.setattr(sends, "MOST_WAITING_BYTES", 8)
    with pytest.raises(RefusedError):
        line.add(message(5, "b"))
    # All of them wait for this one.
    line.add(message(6, prompt_of="r1"))
    assert line.first(("shop", "a")) == message(6, prompt_of="r1")


def test_the_oldest_receipts_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sends, "KEPT_RECEIPTS", 2)
    line = Line([message(number) for number in (1, 2, 3)])
    assert [line.change(message(number, state=OBSERVED)) for number in (2, 1)] == [[], []]
    assert [one.number for one in line.change(message(3, state=OBSERVED))] == [2]
    with pytest.raises(NotFoundError, match="no receipt of a message m2"):
        line.get("m2")


def test_receipts_of_who_sends_much_go_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sends, "KEPT_RECEIPTS", 4)
    ben = Who(user="ben", uid=1002)
    line = Line([message(1), message(2), *(message(number, by=ben) for number in range(3, 10))])
    gone = []
    for number in range(1, 10):
        gone += line.change(replace(line.get(f"m{number}"), state=OBSERVED))
    assert [one.number for one in gone] == [3, 4, 5, 6, 7]
    assert line.get("m1").state == OBSERVED
    again = Line([line.get(f"m{number}") for number in (1, 2, 8, 9)])
    again.add(message(10, by=ben))
    assert [one.number for one in again.change(message(10, by=ben, state=OBSERVED))] == [8]


def test_what_waits_is_weighed_by_who_sent_it() -> None:
    ben = Who(user="ben", uid=1002)
    line = Line([message(1), message(2, by=ben), message(3, "b", by=ben)])
    assert line.taken() == {"ann": message(1).weight, "ben": 2 * message(2).weight}
    line.change(message(1, state=OBSERVED))
    line.change(message(1, state=OBSERVED))
    line.change(message(2, by=ben, state=PASTED))
    assert +Counter(line.taken()) == {"ben": 2 * message(2).weight}
    line.change(message(2, by=ben, state=FAILED))
    assert +Counter(line.taken()) == {"ben": message(2).weight}


def test_an_agents_own_words_prove_what_it_got() -> None:
    line = Line([message(1, text="other", state=SUBMITTED), message(2, state=SUBMITTED), message(3, state=UNKNOWN)])
    assert line.said(("shop", "a"), "hel lo") is None
    assert line.said(("shop", "a"), " hello\r\n") == message(2, state=SUBMITTED)
    assert line.said(("shop", "b"), "hello") is None
    line.change(message(2, state=OBSERVED))
    assert line.said(("shop", "a"), "hello") == message(3, state=UNKNOWN)
    # What was never begun is not proved by somebody else's saying the same.
    assert Line([message(4)]).said(("shop", "a"), "hello") is None


def test_the_prompt_of_a_run_is_found_again() -> None:
    line = Line([message(1, prompt_of="r1"), message(2)])
    assert line.prompt_of("r1") == message(1, prompt_of="r1")
    assert line.prompt_of("r2") is None


def test_a_first_prompt_stands_before_what_was_not_begun_also_for_the_next_daemon() -> None:
    begun, waits, prompt = message(1, step=PASTING), message(2), message(3, prompt_of="r1")
    line = Line([begun, waits])
    line.add(prompt)
    for one in (line, Line([begun, waits, prompt])):
        assert [send.number for send in one.waiting(("shop", "a"))] == [1, 3, 2]


class Model(RuleBasedStateMachine):
    """Whatever happens to them, those of an agent come in order, one at a time, and none that is over comes again."""

    def __init__(self) -> None:
        super().__init__()
        self.line = Line()
        self.number = 0
        self.waiting: dict[str, list[int]] = {"a": [], "b": []}
        self.over: set[int] = set()

    @rule(agent=st.sampled_from("ab"))
    def send(self, agent: str) -> None:
        self.number += 1
        self.line.add(message(self.number, agent))
        self.waiting[agent].append(self.number)

    @precondition(lambda self: any(self.waiting.values()))
    @rule(
        agent=st.sampled_from("ab"),
        state=st.sampled_from(sends.STATES),
        step=st.sampled_from(["", PASTING, ENTERING, PROVING]),
    )
    def change(self, agent: str, state: str, step: str) -> None:
        one = self.line.first(("shop", agent))
        if one is None:
            return
        changed = replace(one, state=state, step=step)
        self.line.change(changed)
        if changed.is_over:
            self.waiting[agent].remove(one.number)
            self.over.add(one.number)

    @rule()
    def restart(self) -> None:
        everything = [self.line.get(f"m{number}") for number in range(1, self.number + 1)]
        self.line = Line(reversed(everything))

    @invariant()
    def in_order(self) -> None:
        for agent, numbers in self.waiting.items():
            assert [one.number for one in self.line.waiting(("shop", agent))] == numbers
            first = self.line.first(("shop", agent))
            assert (first.number if first else None) == (numbers[0] if numbers else None)
            assert not self.over & set(numbers)


TestModel = Model.TestCase
