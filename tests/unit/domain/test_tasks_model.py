"""Tasks against a model that anybody would write: a list, looked through from beginning to end for each question."""

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from corral.domain import tasks as rules
from corral.domain.errors import RefusedError
from corral.domain.task_records import Claim, NewTask
from corral.domain.tasks import Backlog, Moment

KEPT = 1


@dataclass
class Known:
    """A task, as the model has it."""

    number: int
    person: str
    priority: int
    labels: frozenset[str]
    needs: list[int]
    max_attempts: int
    backoff: float
    state: str = "open"
    attempt: int = 0
    #: Of its claim; 0 if nobody has it.
    token: int = 0
    closed: int = 0


@dataclass
class Model:
    tasks: dict[int, Known] = field(default_factory=dict)
    #: Who had a turn, the last one last.
    turns: list[tuple[int, str]] = field(default_factory=list)

    def state(self, task: Known) -> str:
        if task.state in ("open", "delayed") and self.missing(task):
            return "waiting"
        return "ready" if task.state == "open" else task.state

    def missing(self, task: Known) -> list[int]:
        return [need for need in task.needs if need in self.tasks and self.tasks[need].state != "done"]

    def last_turn(self, task: Known) -> int:
        turns = [at for at, turn in enumerate(self.turns) if turn == (task.priority, task.person)]
        return turns[-1] if turns else -1

    def first(self, labels: frozenset[str]) -> int | None:
        fitting = [task for task in self.tasks.values() if self.state(task) == "ready" and task.labels <= labels]
        if not fitting:
            return None
        highest = max(task.priority for task in fitting)
        order = [(self.last_turn(task), task.number) for task in fitting if task.priority == highest]
        return min(order)[1]

    def closes_a_circle(self, after: list[int], before: list[int]) -> bool:
        reached, ahead = set(), list(after)
        while ahead:
            number = ahead.pop()
            if number not in reached:
                reached.add(number)
                ahead += self.missing(self.tasks[number])
        return bool(reached & set(before))

    def forget(self, state: str) -> None:
        closed = sorted((task for task in self.tasks.values() if task.state == state), key=lambda task: task.closed)
        for task in closed[: max(0, len(closed) - KEPT)]:
            needed = any(
                task.number in other.needs for other in self.tasks.values() if other.state != "done" and state == "dead"
            )
            if not needed:
                del self.tasks[task.number]


labels = st.frozensets(st.sampled_from(["gpu", "big"]))


class Machine(RuleBasedStateMachine):
    """Whatever is asked in whatever order, both say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.backlog, self.model, self.revision = Backlog(), Model(), 0
        #: Every token that was ever given out, with its task.
        self.tokens: list[tuple[int, int]] = []
        self.done_with: dict[int, int] = {}

    @initialize()
    def begin(self) -> None:
        self.revision = 10

    def moment(self) -> Moment:
        self.revision += 1
        return Moment(self.revision, float(self.revision), "ann")

    @rule(
        person=st.sampled_from(["ann", "bob", "cid"]),
        priority=st.integers(0, 1),
        labels=labels,
        attempts=st.integers(1, 3),
        backoff=st.sampled_from([0.0, 1.0]),
        data=st.data(),
    )
    def add(
        self, person: str, priority: int, labels: frozenset[str], attempts: int, backoff: float, data: st.DataObject
    ) -> None:
        known = sorted(self.model.tasks)
        some = st.lists(st.sampled_from(known), max_size=2, unique=True) if known else st.just([])
        after, before = data.draw(some), data.draw(some)
        moment = self.moment()
        new = NewTask(
            title="x",
            priority=priority,
            labels=sorted(labels),
            after=[f"t{number}" for number in after],
            before=[f"t{number}" for number in before],
            max_attempts=attempts,
            backoff=backoff,
        )
        states = self.model.tasks
        impossible = (
            any(states[number].state == "dead" for number in after)
            or any(states[number].state in ("done", "dead") for number in before)
            or self.model.closes_a_circle(after, before)
        )
        if impossible:
            with pytest.raises(RefusedError):
                self.backlog.add(new, moment, person)
            return
        assert self.backlog.add(new, moment, person).task.number == moment.revision
        self.model.tasks[moment.revision] = Known(
            moment.revision, person, priority, labels, list(after), attempts, backoff
        )
        for number in before:
            self.model.tasks[number].needs.append(moment.revision)

    @rule(labels=labels)
    def claim(self, labels: frozenset[str]) -> None:
        number = self.backlog.first(labels)
        assert number == self.model.first(labels)
        if number is None:
            return
        moment = self.moment()
        claim = Claim(token=moment.revision, by="shop/a", agent="a", run="r", ttl=1.0, time=moment.time)
        known = self.model.tasks[number]
        known.state, known.token, known.attempt = "claimed", moment.revision, known.attempt + 1
        self.model.turns.append((known.priority, known.person))
        task = self.backlog.claim(number, claim, moment.time).task
        assert (task.attempt, task.token) == (known.attempt, known.token)
        self.tokens.append((number, claim.token))

    @precondition(lambda self: self.tokens)
    @rule(
        data=st.data(),
        what=st.sampled_from(["done", "fail", "final", "release", "renew", "lapse"]),
        recent=st.booleans(),
    )
    def use(self, data: st.DataObject, what: str, recent: bool) -> None:
        number, token = data.draw(st.sampled_from(self.tokens[-3:] if recent else self.tokens))
        moment, name = self.moment(), f"t{number}"
        known = self.model.tasks.get(number)
        if known is None:
            return  # it is forgotten, and named no more
        if known.token != token:
            if what == "lapse":
                assert self.backlog.lapse(number, token, moment) is None
                return
            if what == "done" and self.done_with.get(number) == token:
                assert not self.backlog.done(name, token, moment).is_change
                return
            with pytest.raises(RefusedError):
                self._ask(what, name, token, moment)
            return
        self._ask(what, name, token, moment)
        if what == "renew":
            return
        known.token = 0
        if what == "done":
            assert number not in self.done_with, "nothing is done twice"
            self.done_with[number] = token
            known.state, known.closed = "done", moment.revision
            self.model.forget("done")
        elif what == "release":
            known.state, known.attempt = "open", known.attempt - 1
        elif what == "final" or known.attempt >= known.max_attempts:
            known.state, known.closed = "dead", moment.revision
            self.model.forget("dead")
        else:
            known.state = "delayed" if what == "fail" and known.backoff else "open"

    def _ask(self, what: str, name: str, token: int, moment: Moment) -> None:
        backlog = self.backlog
        if what == "done":
            backlog.done(name, token, moment)
        elif what in ("fail", "final"):
            backlog.fail(name, token, moment, final=what == "final")
        elif what == "release":
            backlog.release(name, token, moment)
        elif what == "renew":
            backlog.renew(name, token, moment)
        else:
            assert backlog.lapse(int(name[1:]), token, moment) is not None

    @precondition(lambda self: self.model.tasks)
    @rule(data=st.data())
    def release_without_a_token(self, data: st.DataObject) -> None:
        known = self.model.tasks[data.draw(st.sampled_from(sorted(self.model.tasks)))]
        name, moment = f"t{known.number}", self.moment()
        if known.state not in ("dead", "delayed"):
            with pytest.raises(RefusedError):
                self.backlog.release(name, None, moment)
            return
        self.backlog.release(name, None, moment)
        known.attempt = 0 if known.state == "dead" else known.attempt
        known.state = "open"

    @rule()
    def rest_is_over(self) -> None:
        for task in list(self.backlog):
            known = self.model.tasks[task.number]
            assert self.backlog.rested(task.number, task.revision) == (known.state == "delayed")
            if known.state == "delayed":
                known.state = "open"

    @rule()
    def start_anew(self) -> None:
        """Turns of what is forgotten are forgotten with it: the model is told what can be known."""
        self.backlog = Backlog(list(self.backlog))
        last: dict[tuple[int, str], int] = {}
        for task in self.backlog:
            if task.token:
                turn = (task.priority, task.person)
                last[turn] = max(task.token, last.get(turn, 0))
        self.model.turns = sorted(last, key=lambda turn: last[turn])

    @invariant()
    def they_are_the_same(self) -> None:
        told = {
            task.number: (self.backlog.state(task), task.attempt, task.claim.token if task.claim else 0)
            for task in self.backlog
        }
        assert told == {
            task.number: (self.model.state(task), task.attempt, task.token) for task in self.model.tasks.values()
        }
        assert self.backlog.ready == sum(self.model.state(task) == "ready" for task in self.model.tasks.values())


@pytest.fixture(autouse=True)
def _few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "KEPT_CLOSED", KEPT)


class TestAgainstTheModel(Machine.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=150, stateful_step_count=50)
