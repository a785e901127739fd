"""The merge queue against a model: whoever breaks the gates goes back alone, everybody else goes in, in order."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.merge_queue import MOST_KEPT, MOST_WAITING, MergeQueue
from corral.domain.merge_records import (
    CANCELLED,
    FAILED,
    LANDING,
    MERGED,
    QUEUED,
    TESTING,
    GateRun,
    Merge,
    name_of,
    number_of,
)


def merge(number: int, **facts: object) -> Merge:
    known = Merge(
        number=number, team="shop", branch=f"b{number}", tip="0" * 40, subject="", target="main", agent="",
        person="ann",
        uid=0, place=number, revision=number, submitted_at=0.0, changed_at=0.0,
    )  # fmt: skip
    return replace(known, **facts)  # type: ignore[arg-type]


def worked_off(queue: MergeQueue, bad: set[int], most: int) -> tuple[list[int], list[list[int]]]:
    """Work the queue off; what went in, in order, and every batch that was tested."""
    went_in: list[int] = []
    batches: list[list[int]] = []
    revision = 1000
    while batch := queue.next_batch(most):
        revision += 1
        numbers = [one.number for one in batch]
        batches.append(numbers)
        if not bad & set(numbers):
            went_in += numbers
            for number in numbers:
                queue.change(number, revision, 0.0, state=MERGED, group=0)
        elif len(numbers) == 1:
            queue.change(numbers[0], revision, 0.0, state=FAILED, group=0)
        else:
            queue.split(numbers, revision, 0.0)
    return went_in, batches


@given(st.integers(1, 40), st.sets(st.integers(1, 40)), st.integers(1, 16))
def test_the_culprits_go_back_alone_and_the_others_in_order(count: int, bad: set[int], most: int) -> None:
    queue = MergeQueue()
    for number in range(1, count + 1):
        queue.submit(merge(number))
    went_in, batches = worked_off(queue, bad, most)
    assert went_in == [number for number in range(1, count + 1) if number not in bad]
    assert {one.number for one in queue if one.state == FAILED} == {number for number in bad if number <= count}
    assert all(len(batch) <= most for batch in batches)
    for number in bad & set(range(1, count + 1)):
        assert [number] in batches, "nobody is blamed for a batch"


@given(st.integers(0, 6), st.data())
def test_one_culprit_costs_two_tests_for_each_halving(halvings: int, data: st.DataObject) -> None:
    count = 1 << halvings
    queue = MergeQueue(merge(number) for number in range(count))
    culprit = data.draw(st.integers(0, count - 1))
    _, batches = worked_off(queue, {culprit}, count)
    assert len(batches) <= 1 + 2 * halvings


def test_two_that_fail_only_together_cost_the_later_one() -> None:
    queue = MergeQueue(merge(number) for number in (1, 2))
    queue.split([1, 2], 10, 0.0)
    assert [one.number for one in queue.next_batch(8)] == [1]
    queue.change(1, 11, 0.0, state=MERGED)
    assert [one.number for one in queue.next_batch(8)] == [2]


@dataclass
class Model:
    """What anybody would expect of a line."""

    line: list[int] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)


class Machine(RuleBasedStateMachine):
    """Submissions, cancellations, retries, tests that pass or fail, and crashes, in any order."""

    @initialize(most=st.integers(1, 5))
    def begin(self, most: int) -> None:
        self.queue = MergeQueue()
        self.model = Model()
        self.most = most
        self.now = 0
        self.bad: set[int] = set()
        self.went_in: list[int] = []

    def tick(self) -> int:
        self.now += 1
        return self.now

    @rule(is_bad=st.booleans())
    def submit(self, is_bad: bool) -> None:
        number = self.tick()
        self.queue.submit(merge(number))
        self.model.line.append(number)
        if is_bad:
            self.bad.add(number)

    @precondition(lambda self: self.model.line)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(self.model.line))
        if self.queue.get(number).state == LANDING:
            with pytest.raises(RefusedError):
                self.queue.cancel(number, self.tick(), 0.0)
            return
        self.queue.cancel(number, self.tick(), 0.0)
        self.model.line.remove(number)
        self.model.ended[number] = CANCELLED

    @precondition(lambda self: any(state != MERGED for state in self.model.ended.values()))
    @rule(data=st.data(), mended=st.booleans())
    def retry(self, data: st.DataObject, mended: bool) -> None:
        ended = [number for number, state in self.model.ended.items() if state != MERGED]
        number = data.draw(st.sampled_from(ended))
        before = self.queue.get(number).attempt
        assert self.queue.retry(self.queue.get(number), self.tick(), 0.0).attempt == before + 1
        self.model.line.append(number)
        del self.model.ended[number]
        if mended:
            self.bad.discard(number)

    @rule()
    def try_a_batch(self) -> None:
        numbers = [one.number for one in self.queue.next_batch(self.most)]
        assert numbers == self.model.line[: len(numbers)], "nobody is overtaken"
        if not numbers:
            return
        for number in numbers:
            self.queue.change(number, self.tick(), 0.0, state=TESTING)
        if not self.bad & set(numbers):
            for number in numbers:
                self.end(number, MERGED)
            self.went_in += numbers
        elif len(numbers) == 1:
            self.end(numbers[0], FAILED)
        else:
            self.queue.split(numbers, self.tick(), 0.0)

    def end(self, number: int, state: str) -> None:
        self.queue.change(number, self.tick(), 0.0, state=state, group=0)
        self.model.line.remove(number)
        self.model.ended[number] = state

    @rule(how_far=st.sampled_from([QUEUED, TESTING]))
    def crash(self, how_far: str) -> None:
        """What is on the disk is all that is known; what was being tested goes back to where it was."""
        numbers = [one.number for one in self.queue.next_batch(self.most)]
        for number in numbers:
            self.queue.change(number, self.tick(), 0.0, state=how_far)
        self.queue = MergeQueue(list(self.queue))
        self.queue.back(numbers, self.tick(), 0.0, "again")

    @invariant()
    def everybody_is_somewhere(self) -> None:
        if not hasattr(self, "queue"):
            return
        assert [one.number for one in self.queue.line()] == self.model.line
        assert {one.number: one.state for one in self.queue if not one.is_on_the_way} == self.model.ended
        assert len(set(self.went_in)) == len(self.went_in), "nobody goes in twice"
        groups = [one.group for one in self.queue.line()]
        assert 0 not in groups[: sum(group != 0 for group in groups)], "what was split is before the rest"


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=100, stateful_step_count=40)


def test_what_is_at_an_end_is_kept_for_a_while() -> None:
    queue = MergeQueue(merge(number, state=MERGED) for number in range(1, MOST_KEPT + 11))
    gone = queue.submit(merge(1000))
    assert [one.number for one in gone] == list(range(1, 11))
    with pytest.raises(NotFoundError, match="there is no merge q1"):
        queue.get(1)


def test_the_line_has_an_end() -> None:
    queue = MergeQueue(merge(number) for number in range(MOST_WAITING))
    with pytest.raises(RefusedError, match="no more may"):
        queue.submit(merge(MOST_WAITING))


def test_what_cannot_be_tried_again_says_why() -> None:
    queue = MergeQueue([merge(1), merge(2, state=MERGED), merge(3, state=FAILED, branch="b1")])
    for number, words in ((1, "on its way"), (2, "is merged"), (3, "q1 of b1 is on its way")):
        with pytest.raises(RefusedError, match=words):
            queue.retry(queue.get(number), 10, 0.0)
    with pytest.raises(RefusedError, match="q2 is merged already"):
        queue.cancel(2, 10, 0.0)
    queue.change(1, 10, 0.0, state=LANDING)
    with pytest.raises(RefusedError, match="just going into main"):
        queue.cancel(1, 11, 0.0)


@pytest.mark.parametrize("name", ["", "q", "12", "q-1", "q1x", "q" + "9" * 30, "qⅧ", "m1"])
def test_what_is_no_name_is_not_found(name: str) -> None:
    with pytest.raises(NotFoundError):
        number_of(name)


def test_names_and_parties() -> None:
    assert number_of(name_of(12)) == 12
    assert (merge(1).party, merge(1, agent="a").party) == ("ann", "shop/a")


@pytest.mark.parametrize(("code", "late", "passed"), [(0, False, True), (1, False, False), (None, True, False)])
def test_a_gate_passes_with_0_and_in_time(code: int | None, late: bool, passed: bool) -> None:
    assert GateRun(command="x", code=code, seconds=1.0, timed_out=late).passed is passed
