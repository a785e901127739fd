"""The rules of tasks: who gets which, what a claim that is over can still do (nothing), and what is kept."""

import time
from collections.abc import Sequence

import pytest

from corral.domain import tasks as rules
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.task_records import (
    CLAIMED,
    DEAD,
    DELAYED,
    DONE,
    KEPT_NOTES,
    LARGEST_TEXT,
    LONGEST_BACKOFF,
    MOST_LABELS,
    READY,
    WAITING,
    Claim,
    NewTask,
    Task,
    number_of,
)
from corral.domain.tasks import Backlog, Moment


class Team:
    """A backlog, and somebody who counts."""

    def __init__(self) -> None:
        self.backlog = Backlog()
        self.revision = 0

    def moment(self, by: str = "ann") -> Moment:
        self.revision += 1
        return Moment(self.revision, float(self.revision), by)

    def add(self, title: str = "x", person: str = "ann", **parts: object) -> str:
        return self.backlog.add(NewTask(title=title, **parts), self.moment(person), person).task.id  # type: ignore[arg-type]

    def claim(self, *labels: str, by: str = "shop/a") -> Task | None:
        number = self.backlog.first(frozenset(labels))
        if number is None:
            return None
        moment = self.moment()
        claim = Claim(token=moment.revision, by=by, agent="a", run="r1", ttl=60.0, time=moment.time)
        return self.backlog.claim(number, claim, moment.time).task

    def claimed(self, *labels: str) -> str | None:
        task = self.claim(*labels)
        return task.id if task is not None else None

    def state(self, task: str) -> str:
        return self.backlog.state(self.backlog.get(task))

    def finish(self, task: Task | None) -> rules.Changed:
        assert task is not None
        return self.backlog.done(task.id, task.token, self.moment())

    def lapse(self, task: Task) -> rules.Changed | None:
        return self.backlog.lapse(task.number, task.token, self.moment())


@pytest.fixture
def team() -> Team:
    return Team()


class TestWhoIsNext:
    def test_the_oldest_of_the_highest_priority(self, team: Team) -> None:
        low, first, second = team.add(priority=-1), team.add(priority=7), team.add(priority=7)
        usual = team.add()
        assert [team.claimed() for _ in range(5)] == [first, second, usual, low, None]

    def test_people_take_turns_within_a_priority(self, team: Team) -> None:
        anns = [team.add(person="ann") for _ in range(3)]
        bobs = [team.add(person="bob") for _ in range(2)]
        assert [team.claimed() for _ in range(5)] == [anns[0], bobs[0], anns[1], bobs[1], anns[2]]

    def test_a_turn_at_another_priority_is_no_turn_at_this(self, team: Team) -> None:
        ann, bob = team.add(person="ann"), team.add(person="bob")
        more = team.add(person="ann")
        assert team.claimed() == ann
        urgent = team.add(person="bob", priority=1)
        assert [team.claimed() for _ in range(3)] == [urgent, bob, more]

    def test_one_who_adds_a_task_at_a_time_is_not_always_first(self, team: Team) -> None:
        anns = [team.add(person="ann") for _ in range(3)]
        got: list[str | None] = []
        for _ in range(3):
            team.add(person="bob")
            got += [team.claimed(), team.claimed()]
        assert [task for task in got if task in anns] == anns

    def test_turns_are_remembered_over_a_restart(self, team: Team) -> None:
        ann, _, bob = team.add(person="ann"), team.add(person="ann"), team.add(person="bob")
        assert team.claimed() == ann
        team.backlog = Backlog(team.backlog)
        assert team.claimed() == bob

    def test_labels_are_for_who_has_all_of_them(self, team: Team) -> None:
        both, gpu, none = team.add(labels=["gpu", "big"]), team.add(labels=["gpu"]), team.add()
        assert team.claimed() == none
        assert team.claimed() is None
        assert team.claimed("big") is None
        assert team.claimed("gpu") == gpu
        assert team.claimed("gpu", "big", "more") == both

    def test_one_that_failed_keeps_its_place(self, team: Team) -> None:
        first, _ = team.add(backoff=0), team.add()
        task = team.claim()
        assert task is not None
        team.backlog.fail(first, task.token, team.moment())
        assert team.claimed() == first


class TestNeeds:
    def test_it_waits_until_all_are_done(self, team: Team) -> None:
        a, b = team.add(), team.add()
        last = team.add(after=[a, b])
        assert (team.state(last), team.backlog.missing(team.backlog.get(last))) == (
            WAITING,
            [number_of(a), number_of(b)],
        )
        team.finish(team.claim())
        assert team.state(last) == WAITING
        team.finish(team.claim())
        assert team.state(last) == READY
        assert team.claimed() == last

    def test_what_is_done_is_not_waited_for(self, team: Team) -> None:
        done = team.add()
        team.finish(team.claim())
        assert team.state(team.add(after=[done])) == READY

    def test_one_can_be_put_before_others(self, team: Team) -> None:
        late = team.add()
        early = team.add(before=[late])
        assert team.state(late) == WAITING
        task = team.claim()
        assert task is not None
        assert task.id == early
        team.finish(task)
        assert team.claimed() == late

    def test_one_that_is_claimed_waits_when_it_is_given_back(self, team: Team) -> None:
        big = team.add()
        task = team.claim()
        assert task is not None
        team.add(before=[big])
        assert team.state(big) == CLAIMED
        team.backlog.release(big, task.token, team.moment())
        assert team.state(big) == WAITING

    def test_a_circle_is_refused_and_named(self, team: Team) -> None:
        a = team.add()
        b = team.add(after=[a])
        c = team.add(after=[b])
        for after, before, cycle in (([c], [a], [c, b, a]), ([a], [a], [a])):
            with pytest.raises(RefusedError) as caught:
                team.add(after=after, before=before)
            assert caught.value.details["cycle"] == cycle
        assert team.claimed() == a
        assert team.claimed() is None
        assert len(team.backlog) == 3

    def test_no_circle_goes_through_what_is_done(self, team: Team) -> None:
        a = team.add()
        b = team.add(after=[a])
        team.finish(team.claim())
        team.add(after=[b])
        with pytest.raises(RefusedError, match="is done"):
            team.add(before=[a])

    def test_a_dead_one_is_not_waited_for_in_vain(self, team: Team) -> None:
        dead = team.add()
        waits = team.add(after=[dead])
        task = team.claim()
        assert task is not None
        team.backlog.fail(dead, task.token, team.moment(), final=True)
        assert team.state(waits) == WAITING
        with pytest.raises(RefusedError, match="is dead"):
            team.add(after=[dead])
        team.backlog.release(dead, None, team.moment())
        team.finish(team.claim())
        assert team.state(waits) == READY

    def test_what_is_not_there_cannot_be_needed(self, team: Team) -> None:
        for parts in ({"after": ["t99"]}, {"before": ["t99"]}):
            with pytest.raises(NotFoundError):
                team.add(**parts)  # type: ignore[arg-type]


class TestClaims:
    def test_what_is_said_with_the_token_of_a_claim_that_is_over_is_refused(self, team: Team) -> None:
        task = team.claim() if team.add() else None
        assert task is not None
        team.lapse(task)
        again = team.claim(by="shop/b")
        assert again is not None
        assert again.token > task.token
        for what in ("done", "fail", "renew", "release"):
            with pytest.raises(RefusedError) as caught:
                getattr(team.backlog, what)(task.id, task.token, team.moment())
            assert caught.value.details == {"task": task.id, "state": CLAIMED, "holder": "shop/b"}
        team.finish(again)
        with pytest.raises(RefusedError) as late:
            team.finish(task)
        assert late.value.details["state"] == DONE

    def test_done_again_with_the_token_that_did_it_changes_nothing(self, team: Team) -> None:
        task = team.claim() if team.add() else None
        assert task is not None
        team.backlog.done(task.id, task.token, team.moment(), "it works")
        again = team.backlog.done(task.id, task.token, team.moment(), "another result", "and a note")
        assert not again.is_change
        assert (again.task.result, again.task.notes) == ("it works", ())
        with pytest.raises(RefusedError):
            team.backlog.fail(task.id, task.token, team.moment())

    def test_attempts_are_counted_and_after_the_last_it_is_dead(self, team: Team) -> None:
        name = team.add(max_attempts=3, backoff=0)
        for attempt in (1, 2, 3):
            task = team.claim()
            assert task is not None
            assert task.attempt == attempt
            if attempt == 2:
                team.lapse(task)
            else:
                team.backlog.fail(name, task.token, team.moment())
        assert team.state(name) == DEAD
        assert team.claim() is None
        team.backlog.release(name, None, team.moment())
        revived = team.claim()
        assert revived is not None
        assert revived.attempt == 1

    def test_a_lapse_of_a_claim_that_is_over_is_nothing(self, team: Team) -> None:
        team.add()
        task = team.claim()
        assert task is not None
        assert team.lapse(task) is not None
        assert team.lapse(task) is None

    def test_one_that_is_given_back_was_no_attempt(self, team: Team) -> None:
        team.add(max_attempts=1)
        for _ in range(3):
            task = team.claim()
            assert task is not None
            assert task.attempt == 1
            team.backlog.release(task.id, task.token, team.moment())

    def test_a_failure_is_followed_by_a_rest_that_doubles(self, team: Team) -> None:
        name = team.add(max_attempts=1000, backoff=2.0)
        rests = []
        for _ in range(15):
            task = team.claim()
            assert task is not None
            rested = team.backlog.fail(name, task.token, team.moment()).task
            assert team.state(name) == DELAYED
            assert team.claim() is None
            rests.append(rested.rest)
            assert not team.backlog.rested(rested.number, rested.revision - 1)
            assert team.backlog.rested(rested.number, rested.revision)
        assert rests[:4] == [2.0, 4.0, 8.0, 16.0]
        assert rests[-1] == LONGEST_BACKOFF

    def test_only_what_nobody_has_can_be_released_without_a_token(self, team: Team) -> None:
        name = team.add()
        with pytest.raises(RefusedError, match="nothing to release"):
            team.backlog.release(name, None, team.moment())
        task = team.claim()
        assert task is not None
        with pytest.raises(RefusedError) as caught:
            team.backlog.release(name, None, team.moment())
        assert caught.value.details == {"task": name, "holder": "shop/a"}
        team.backlog.fail(name, task.token, team.moment())
        team.backlog.release(name, None, team.moment())
        assert team.state(name) == READY

    def test_result_and_notes_are_kept_and_only_so_many(self, team: Team) -> None:
        name = team.add()
        task = team.claim()
        assert task is not None
        for number in range(KEPT_NOTES + 5):
            team.backlog.renew(name, task.token, team.moment("shop/a"), f"note {number}")
        team.backlog.done(name, task.token, team.moment("shop/a"), "it works", "and how")
        kept = team.backlog.get(name)
        assert kept.result == "it works"
        assert [note.text for note in kept.notes][-2:] == [f"note {KEPT_NOTES + 4}", "and how"]
        assert len(kept.notes) == KEPT_NOTES


class TestAdding:
    def test_the_same_key_is_the_same_task(self, team: Team) -> None:
        name = team.add("nightly", key="k")
        again = team.backlog.add(NewTask(title="nightly", key="k"), team.moment(), "bob")
        assert (again.task.id, again.is_change) == (name, False)
        with pytest.raises(RefusedError) as caught:
            team.add("another", key="k")
        assert caught.value.details == {"task": name}
        team.finish(team.claim())
        assert team.add("nightly", key="k") == name, "also when it is done"

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ({"title": " "}, "needs a title"),
            ({"title": "a\nb"}, "cannot be seen"),
            ({"title": "\udcff"}, "must be text"),
            ({"title": "x" * 301}, "are the most"),
            ({"body": "x" * (LARGEST_TEXT + 1)}, "are the most"),
            ({"priority": 1001}, "out of range"),
            ({"labels": [""]}, "cannot be a label"),
            ({"labels": ["a\0"]}, "cannot be a label"),
            ({"labels": [str(number) for number in range(MOST_LABELS + 1)]}, "too many"),
            ({"after": ["t1"] * 65}, "tied to 65"),
            ({"max_attempts": 0}, "attempts are not possible"),
            ({"backoff": -1.0}, "are not possible"),
            ({"backoff": float("nan")}, "are not possible"),
            ({"key": "k" * 201}, "are the most"),
        ],
    )
    def test_what_can_be_no_task_is_refused_in_words(self, team: Team, parts: dict[str, object], message: str) -> None:
        with pytest.raises(WrongUseError) as caught:
            team.add(**{"title": "x", **parts})  # type: ignore[arg-type]
        assert message in caught.value.message + caught.value.remedy
        assert len(team.backlog) == 0

    def test_there_are_only_so_many(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rules, "MOST_OPEN", 2)
        team.add()
        team.add()
        with pytest.raises(RefusedError, match="may have 2"):
            team.add()
        team.finish(team.claim())
        team.add()

    def test_and_of_so_many_bytes(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rules, "MOST_BYTES", 100)
        team.add(body="y" * 90)
        with pytest.raises(RefusedError, match="take 91 bytes"):
            team.add(body="y" * 10)


class TestNames:
    @pytest.mark.parametrize("name", ["", "t", "5", "t05", "t0", "t-5", "t5 ", "T5", "t" + "9" * 19, "t５", "t5\0"])
    def test_what_is_no_id_is_not_found(self, team: Team, name: str) -> None:
        team.revision = 4
        assert team.add() == "t5"
        with pytest.raises(NotFoundError):
            team.backlog.get(name)


class TestWhatIsKept:
    def test_of_what_is_closed_the_last(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rules, "KEPT_CLOSED", 3)
        names = [team.add(key=f"k{number}") for number in range(5)]
        dropped = [number for _ in names for number in team.finish(team.claim()).dropped]
        assert dropped == [number_of(name) for name in names[:2]]
        assert [task.id for task in team.backlog] == names[2:]
        assert team.add(key="k0") not in names, "its key is free with it"

    def test_a_dead_one_that_others_wait_for(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rules, "KEPT_CLOSED", 0)

        def die() -> Sequence[int]:
            task = team.claim()
            assert task is not None
            return team.backlog.fail(task.id, task.token, team.moment(), final=True).dropped

        needed = team.add()
        waits = team.add(after=[needed])
        assert die() == []
        assert team.state(needed) == DEAD
        assert team.state(waits) == WAITING
        other = team.add()
        assert die() == [number_of(other)]

    def test_one_that_only_what_is_gone_needed_goes_too(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rules, "KEPT_CLOSED", 0)
        late = team.add()
        task = team.claim()
        assert task is not None
        early = team.add(before=[late])
        assert team.backlog.fail(late, task.token, team.moment(), final=True).dropped == [number_of(late)]
        task = team.claim()
        assert task is not None
        assert team.backlog.fail(early, task.token, team.moment(), final=True).dropped == [number_of(early)]

    def test_all_of_it_comes_back_after_a_restart(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rules, "KEPT_CLOSED", 2)
        a, b, c = (team.add() for _ in range(3))
        for _ in range(3):
            team.finish(team.claim())
        waits = team.add(after=[c], key="k")
        ready = team.add(after=[b, c])
        again = Backlog(reversed(list(team.backlog)))
        assert {task.id: again.state(task) for task in again} == {b: DONE, c: DONE, waits: READY, ready: READY}
        assert again.known(NewTask(title="x", key="k")) is not None
        with pytest.raises(NotFoundError):
            again.get(a)


def test_the_next_is_found_as_fast_among_ten_thousand(team: Team) -> None:
    """On a machine that is busy; what it must not be is a look at all of them, which takes several milliseconds."""
    for number in range(10_000):
        team.add(priority=number % 7, person=f"p{number % 11}", labels=["gpu"] if number % 3 else [])
    began = time.process_time()
    for _ in range(1000):
        assert team.claim("gpu") is not None
    assert time.process_time() - began < 1.0
