"""What waits for a person: one entry for a cause, answered once, and gone with its cause."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from corral.domain.dialogs import Choice
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.inbox import CLAIM_SECONDS, FLAP_SECONDS, KEPT_CLOSED, MOST_WAITING, Inbox
from corral.domain.inbox_answers import Answer, keys_of, must_have_been_shown
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


#: As a hook tells of it, before anything is drawn.
TOLD = Cause(team="shop", agent="a", kind="permission", key="r1 permission", what="asks (hook)", run="r1")


@pytest.mark.parametrize("kind", ["permission", "question"])
def test_what_was_told_before_it_was_drawn_keeps_its_number_and_its_claim(kind: str) -> None:
    inbox = Inbox()
    opened(inbox, replace(TOLD, kind=kind))
    inbox.claim(1, "ann", 101.0)
    drawn = inbox.came(PERMISSION, 102.0)
    assert drawn is not None
    assert (drawn.number, drawn.since, drawn.state, drawn.by, drawn.cause) == (1, 100.0, CLAIMED, "ann", PERMISSION)
    assert [entry.number for entry in inbox.waiting("shop", "a", "permission")] == [1]
    assert inbox.waiting("shop", "a", "question") == []
    # Another dialog is another question, and what cannot be seen for a moment is the same.
    assert inbox.came(replace(TOLD, kind=kind), 103.0) is None
    assert inbox.get(1).cause == PERMISSION
    other = inbox.came(replace(PERMISSION, key="r1 m2", mark="m2"), 104.0)
    assert other is not None
    assert other.number == 2


@pytest.mark.parametrize("changes", [{"run": "r2"}, {"agent": "b"}, {"team": "toys"}])
def test_what_was_told_of_another_run_or_agent_is_another_entry(changes: dict[str, str]) -> None:
    inbox = Inbox()
    opened(inbox, TOLD)
    drawn = inbox.came(replace(PERMISSION, **changes), 101.0)  # type: ignore[arg-type]
    assert drawn is not None
    assert drawn.number == 2
    assert inbox.get(1).cause == TOLD


def test_a_dialog_that_is_drawn_while_words_are_sent_is_another_entry() -> None:
    inbox = Inbox()
    opened(inbox, replace(TOLD, kind="question", text=True))
    inbox.begin_answer(1, "ann", "text", 101.0)
    drawn = inbox.came(PERMISSION, 102.0)
    assert drawn is not None
    assert drawn.number == 2
    assert inbox.answered(1, PROVED, 103.0).state == ANSWERED


def test_the_lines_of_what_is_not_drawn_are_brought_up_to_date() -> None:
    inbox = Inbox()
    opened(inbox, TOLD)
    later = inbox.came(replace(TOLD, lines=("more",)), 101.0)
    assert later is not None
    assert (later.number, later.changed, later.cause.lines) == (1, 100.0, ("more",))


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


def test_nobodys_entries_are_in_the_way_of_anothers() -> None:
    inbox = Inbox()
    anns = [inbox.came(replace(PERMISSION, key=f"k{number}"), 0.0, "ann") for number in range(2)]
    assert anns[0] is not None
    inbox.went(anns[0].number, 0.0)
    for number in range(MOST_WAITING):
        assert inbox.came(replace(PERMISSION, team="mill", agent=f"a{number}"), 1.0, "ben") is not None
    assert inbox.came(replace(PERMISSION, team="mill", agent="one-more"), 1.0, "ben") is None
    assert inbox.came(replace(PERMISSION, key="k2"), 1.0, "ann") is not None
    for entry in [one for one in inbox if one.person == "ben"][: KEPT_CLOSED + 3]:
        inbox.went(entry.number, 2.0)
    # As they are read again, and with one that somebody had claimed, which says whose it is all the same.
    inbox.claim(2, "ann", 2.0)
    inbox.claim(2, "ann", 2.0 + 2 * CLAIM_SECONDS)
    for one in (Inbox(inbox, inbox.last), inbox):
        assert one.surplus() == [3, 4, 5]
        assert one.surplus() == []
        assert [entry.number for entry in one if entry.person == "ann"] == [1, 2, MOST_WAITING + 3]
        assert one.came(replace(PERMISSION, team="mill", agent="one-more"), 9.0, "ben") is not None


def test_an_answer_means_the_keys_that_the_dialog_has_for_it() -> None:
    entry = opened(Inbox())
    assert keys_of(entry, Answer(say="approve")) == ("y",)
    assert keys_of(entry, Answer(say="deny")) == ("Escape",)
    assert keys_of(entry, Answer(option=2)) == ("2",)
    with pytest.raises(WrongUseError, match="no choice 3"):
        keys_of(entry, Answer(option=3))
    with pytest.raises(RefusedError, match="takes no words"):
        keys_of(entry, Answer(text="sure"))


def test_nobody_approves_a_question_that_was_drawn_after_they_looked() -> None:
    told = opened(Inbox(), replace(PERMISSION, mark="", choices=(), approve=(), deny=()))
    drawn = replace(told, cause=PERMISSION)
    for answer in (Answer(say="approve"), Answer(option=1)):
        with pytest.raises(RefusedError, match="nobody has read it yet"):
            must_have_been_shown(told, drawn, answer)
        must_have_been_shown(drawn, drawn, answer)
    must_have_been_shown(told, drawn, Answer(say="deny"))


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


def test_words_go_into_a_field_as_one_line_that_fits_there() -> None:
    inbox = Inbox()
    entry = opened(inbox, replace(PERMISSION, kind="question", text=True))
    assert keys_of(entry, Answer(text="use MySQL")) == ()
    for text in ("two\nlines", "x" * 501):
        with pytest.raises(WrongUseError, match="one line, of at most 500"):
            keys_of(entry, Answer(text=text))
    told = replace(entry, cause=replace(entry.cause, mark=""))
    assert keys_of(told, Answer(text="two\nlines")) == ()
