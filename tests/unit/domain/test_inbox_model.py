"""The inbox against a model that anybody would write: a list of all that ever came, looked through each time."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.inbox import CLAIM_SECONDS, FLAP_SECONDS, Inbox
from corral.domain.inbox_records import PROVED, Cause

AGENTS, KINDS, KEYS, PEOPLE = ("a", "b"), ("permission", "failed"), ("k1", "k2"), ("ann", "bob")


@dataclass
class Known:
    """An entry, as the model has it."""

    number: int
    agent: str
    kind: str
    key: str
    state: str = "open"
    by: str = ""
    until: float = 0.0
    changed: float = 0.0

    @property
    def waits(self) -> bool:
        return self.state not in ("answered", "gone")


class Machine(RuleBasedStateMachine):
    """Every rule is done to both, and both must agree on what is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.inbox = Inbox()
        self.model: list[Known] = []
        self.now = 1000.0

    def free(self, number: int, who: str) -> bool:
        known = self.model[number - 1]
        held = known.state == "claimed" and known.by != who and known.until > self.now
        return known.waits and known.state != "answering" and not held

    def both(self, number: int, who: str, act: str, *arguments: object) -> bool:
        """Do something to an entry; true if it was not refused, which must be what the model says."""
        wanted = self.free(number, who)
        try:
            getattr(self.inbox, act)(number, who, *arguments, self.now)
        except RefusedError:
            assert not wanted, f"{act} of {self.model[number - 1]} was refused"
            return False
        assert wanted, f"{act} of {self.model[number - 1]} was not refused"
        return True

    @rule(seconds=st.sampled_from([0.0, 1.0, FLAP_SECONDS, FLAP_SECONDS + 1, CLAIM_SECONDS]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(agent=st.sampled_from(AGENTS), kind=st.sampled_from(KINDS), key=st.sampled_from(KEYS))
    def come(self, agent: str, kind: str, key: str) -> None:
        same = [known for known in self.model if (known.agent, known.kind, known.key) == (agent, kind, key)]
        entry = self.inbox.came(Cause(team="t", agent=agent, kind=kind, key=key, what=""), self.now)
        if any(known.waits for known in same):
            assert entry is None
            return
        assert entry is not None
        flapped = [one for one in same if one.state == "gone" and self.now - one.changed <= FLAP_SECONDS]
        if not flapped:
            self.model.append(Known(len(self.model) + 1, agent, kind, key, changed=self.now))
            assert entry.number == len(self.model)
            return
        known = max(flapped, key=lambda one: (one.changed, one.number))
        if entry.number != known.number:  # two that went in the same moment: either may come back
            known = next(one for one in flapped if one.number == entry.number and one.changed == known.changed)
        known.state, known.by, known.until, known.changed = "open", "", 0.0, self.now

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(1, len(self.model)))
        known = self.model[number - 1]
        went = self.inbox.went(number, self.now)
        assert (went is not None) is (known.waits and known.state != "answering")
        if went is not None:
            known.state, known.by, known.changed = "gone", "", self.now

    @precondition(lambda self: self.model)
    @rule(data=st.data(), who=st.sampled_from(PEOPLE), act=st.sampled_from(["claim", "snooze", "begin_answer"]))
    def take(self, data: st.DataObject, who: str, act: str) -> None:
        number = data.draw(st.integers(1, len(self.model)))
        more: dict[str, tuple[object, ...]] = {"claim": (), "snooze": (60.0,), "begin_answer": ("approve",)}
        if not self.both(number, who, act, *more[act]):
            return
        known = self.model[number - 1]
        known.state = {"claim": "claimed", "snooze": "snoozed", "begin_answer": "answering"}[act]
        known.by, known.changed = who, self.now
        known.until = self.now + {"claim": CLAIM_SECONDS, "snooze": 60.0, "begin_answer": 0.0}[act]

    @precondition(lambda self: any(known.state == "answering" for known in self.model))
    @rule(data=st.data(), outcome=st.sampled_from(["answered", "kept", "gone"]))
    def end_answer(self, data: st.DataObject, outcome: str) -> None:
        known = data.draw(st.sampled_from([one for one in self.model if one.state == "answering"]))
        if outcome == "answered":
            self.inbox.answered(known.number, PROVED, self.now)
            known.state = "answered"
        else:
            self.inbox.not_answered(known.number, self.now, gone=outcome == "gone")
            known.state = "gone" if outcome == "gone" else "claimed"
            known.by = "" if outcome == "gone" else known.by
            known.until = self.now + CLAIM_SECONDS
        known.changed = self.now

    @rule()
    def be_killed(self) -> None:
        """What is on the disk is all that the next one knows."""
        self.inbox = Inbox([replace(entry) for entry in self.inbox], self.inbox.last)

    @invariant()
    def both_know_the_same(self) -> None:
        told = {entry.number: (entry.at(self.now).state, entry.at(self.now).by) for entry in self.inbox}
        expected = {}
        for known in self.model:
            over = known.state in ("claimed", "snoozed") and known.until <= self.now
            expected[known.number] = ("open", "") if over else (known.state, known.by)
        assert told == expected

    @invariant()
    def a_cause_has_one_entry_that_waits(self) -> None:
        waiting = [(one.cause.agent, one.cause.kind, one.cause.key) for one in self.inbox if one.waits]
        assert len(waiting) == len(set(waiting))
        for agent in AGENTS:
            found = [entry.number for entry in self.inbox.waiting("t", agent, *KINDS)]
            assert found == sorted(one.number for one in self.model if one.agent == agent and one.waits)


TestAgainstTheModel = Machine.TestCase
TestAgainstTheModel.settings = settings(max_examples=120, stateful_step_count=40)


def test_a_number_that_nobody_gave_out_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        Inbox().get(1)
