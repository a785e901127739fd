"""What waits for a person: one entry for a cause, answered once, and gone with its cause."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from corral.domain.dialogs import Choice
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.inbox import CLAIM_SECONDS, FLAP_SECONDS, KEPT_CLOSED, MOST_WAITING, Inbox
from corral.domain.inbox_answers import Answer, keys_of
from corral.domain.inbox_records import ANSWERED, CLAIMED, GONE, OPEN, PROVED, SNOOZED, Cause, Entry, number_of

PERMISSION = Cause(
    team="shop",
    agent="a",
    kind="permission",
    key="r1 m1",
    what="May I?",
    run="r1",
    mark="m1",
    choices=(Choice(1, "Yes"), Choice(2, "No")),
    approve=("y",),
    deny=("Escape",),
)


def opened(inbox: Inbox, cause: Cause = PERMISSION, now: float = 100.0) -> Entry:
    entry = inbox.came(cause, now)
    assert entry is not None
    return entry


def test_a_cause_that_is_known_makes_no_second_entry() -> None:
    inbox = Inbox()
    first = opened(inbox)
    assert (first.number, first.state, first.since) == (1, OPEN, 100.0)
    assert inbox.came(PERMISSION, 101.0) is None
    assert [entry.number for entry in inbox] == [1]


def test_a_cursor_that_moved_is_no_second_entry_and_an_answer_goes_where_it_is_now() -> None:
    inbox = Inbox()
    opened(inbox)
    inbox.claim(1, "ann", 101.0)
    moved = inbox.came(replace(PERMISSION, mark="m2"), 102.0)
    assert moved is not None
    assert (moved.number, moved.state, moved.changed, moved.cause.mark) == (1, CLAIMED, 101.0, "m2")
    inbox.begin_answer(1, "ann", "approve", 103.0)
    assert inbox.came(replace(PERMISSION, mark="m3"), 104.0) is None


def test_a_flapping_screen_keeps_its_number_and_its_time() -> None:
    inbox = Inbox()
    first = opened(inbox)
    inbox.went(first.number, 110.0)
    again = inbox.came(PERMISSION, 110.0 + FLAP_SECONDS)
    assert again is not None
    assert (again.number, again.state, again.since) == (1, OPEN, 100.0)
    inbox.went(1, 200.0)
    later = inbox.came(PERMISSION, 200.0 + FLAP_SECONDS + 1)
    assert later is not None
    assert later.number == 2


def test_the_same_question_after_an_answer_is_another_one() -> None:
    inbox = Inbox()
    inbox.begin_answer(opened(inbox).number, "ann", "approve", 101.0)
    inbox.answered(1, PROVED, 102.0)
    assert opened(inbox, now=103.0).number == 2


def test_a_number_is_never_used_again_also_if_its_entry_is_forgotten() -> None:
    inbox = Inbox()
    opened(inbox)
    assert opened(Inbox((), last=inbox.last)).number == 2


def test_what_is_claimed_is_nobody_elses_until_the_claim_lapses() -> None:
    inbox = Inbox()
    opened(inbox)
    inbox.claim(1, "ann", 101.0)
    inbox.claim(1, "ann", 102.0)
    acts: tuple[Callable[[], Entry], ...] = (
        lambda: inbox.claim(1, "bob", 103.0),
        lambda: inbox.snooze(1, "bob", 60.0, 103.0),
        lambda: inbox.begin_answer(1, "bob", "deny", 103.0),
    )
    for act in acts:
        with pytest.raises(RefusedError) as refusal:
            act()
        assert refusal.value.details["by"] == "ann"
    assert inbox.get(1).at(103.0).state == CLAIMED
    assert inbox.get(1).at(102.0 + CLAIM_SECONDS).state == OPEN
    assert inbox.claim(1, "bob", 102.0 + CLAIM_SECONDS).by == "bob"


def test_what_rests_is_open_again_when_the_time_is_over_and_can_be_answered_before() -> None:
    inbox = Inbox()
    opened(inbox)
    inbox.snooze(1, "ann", 60.0, 100.0)
    assert inbox.get(1).at(159.9).state == SNOOZED
    assert inbox.get(1).at(160.0).state == OPEN
    assert inbox.begin_answer(1, "bob", "1", 110.0).by == "bob"
    for seconds in (0.0, -1.0, 1e9):
        with pytest.raises(WrongUseError):
            inbox.snooze(1, "ann", seconds, 111.0)


def test_of_two_who_answer_one_is_refused() -> None:
    inbox = Inbox()
    opened(inbox)
    inbox.begin_answer(1, "ann", "approve", 101.0)
    for who in ("bob", "ann"):
        with pytest.raises(RefusedError, match="is being answered by ann"):
            inbox.begin_answer(1, who, "deny", 101.0)
    inbox.answered(1, PROVED, 102.0)
    with pytest.raises(RefusedError, match="was answered by ann already"):
        inbox.begin_answer(1, "bob", "deny", 103.0)
    assert inbox.get(1).state == ANSWERED


def test_an_answer_that_did_not_take_leaves_it_with_whoever_answered() -> None:
    inbox = Inbox()
    opened(inbox)
    inbox.begin_answer(1, "ann", "approve", 101.0)
    entry = inbox.not_answered(1, 102.0, gone=False)
    assert (entry.state, entry.by, entry.answer) == (CLAIMED, "ann", "")


def test_a_cause_that_goes_while_it_is_being_answered_is_left_to_the_answer() -> None:
    inbox = Inbox()
    opened(inbox)
    inbox.begin_answer(1, "ann", "approve", 101.0)
    assert inbox.went(1, 101.5) is None
    assert inbox.not_answered(1, 102.0, gone=True).state == GONE
    with pytest.raises(RefusedError, match="waits no more"):
        inbox.claim(1, "ann", 103.0)


def test_what_ended_long_ago_is_forgotten_and_what_waits_is_bounded() -> None:
    inbox = Inbox()
    for number in range(KEPT_CLOSED + 5):
        entry = opened(inbox, replace(PERMISSION, key=f"k{number}"), float(number))
        inbox.went(entry.number, float(number))
    assert inbox.surplus() == [1, 2, 3, 4, 5]
    assert len(list(inbox)) == KEPT_CLOSED
    with pytest.raises(NotFoundError):
        inbox.get(5)
    crowded = Inbox()
    for number in range(MOST_WAITING):
        opened(crowded, replace(PERMISSION, agent=f"a{number}"))
    assert crowded.came(replace(PERMISSION, agent="one-more"), 1.0) is None


def test_an_answer_means_the_keys_that_the_dialog_has_for_it() -> None:
    entry = opened(Inbox())
    assert keys_of(entry, Answer(say="approve")) == ("y",)
    assert keys_of(entry, Answer(say="deny")) == ("Escape",)
    assert keys_of(entry, Answer(option=2)) == ("2",)
    with pytest.raises(WrongUseError, match="no choice 3"):
        keys_of(entry, Answer(option=3))
    with pytest.raises(RefusedError, match="takes no words"):
        keys_of(entry, Answer(text="sure"))


def test_what_cannot_be_pressed_is_refused_with_what_helps() -> None:
    cause = replace(PERMISSION, kind="failed", mark="", approve=(), deny=(), choices=(), remedy="corral restart a")
    entry = opened(Inbox(), cause)
    for answer in (Answer(say="approve"), Answer(say="deny"), Answer(option=1), Answer(text="go on")):
        with pytest.raises(RefusedError) as refusal:
            keys_of(entry, answer)
        assert refusal.value.remedy == "corral restart a"
    assert keys_of(opened(Inbox(), replace(cause, kind="question", text=True)), Answer(text="go on")) == ()


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "²", "9" * 16])
def test_what_can_be_no_number_is_not_found(text: str) -> None:
    with pytest.raises(NotFoundError):
        number_of(text)
