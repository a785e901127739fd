"""What a session knows of files, when it may not write one, and that nothing of it grows without end."""

import pytest

from corral.domain import file_notes
from corral.domain.file_notes import (
    BEING_WRITTEN,
    CHANGED,
    GONE,
    UNDER_WAY_SECONDS,
    UNSEEN,
    FileNotes,
    Note,
    Session,
)

A, B = Session("shop/a", "1"), Session("shop/b", "1")
X = "/r/x"


def why(notes: FileNotes, session: Session, stamp: str, now: float = 0.0) -> str:
    """Why the session may not write the file, whose stamp is this."""
    objection = notes.objection(session, X, stamp, notes.being_written(now))
    return objection.why if objection else ""


def test_what_nobody_noted_anything_of_may_be_written() -> None:
    assert why(FileNotes(), A, "s") == ""
    assert why(FileNotes(), A, "") == ""


def test_what_is_as_it_was_read_may_be_written_and_what_changed_may_not() -> None:
    notes = FileNotes()
    notes.has_read(A, X, "s", 1.0, 0.0)
    assert why(notes, A, "s") == ""
    assert why(notes, A, "t") == CHANGED
    assert why(notes, A, "") == GONE
    assert why(notes, B, "t") == ""


def test_its_own_writing_is_no_change() -> None:
    notes = FileNotes()
    notes.has_read(A, X, "s", 1.0, 0.0)
    notes.begin_writing(A, X, "s", 0.0)
    notes.wrote(A, X, "t", 2.0)
    assert why(notes, A, "t") == ""
    assert why(notes, A, "s") == CHANGED


def test_who_changed_it_is_named_if_it_is_known() -> None:
    notes = FileNotes()
    notes.has_read(A, X, "s", 1.0, 0.0)
    notes.wrote(B, X, "t", 2.0)
    objection = notes.objection(A, X, "t", {})
    assert objection is not None
    assert (objection.why, objection.by, objection.time) == (CHANGED, "shop/b", 2.0)


def test_a_file_that_another_wrote_has_to_be_read_before_it_is_written_over() -> None:
    notes = FileNotes()
    notes.wrote(A, X, "s", 1.0)
    assert why(notes, B, "s") == UNSEEN
    assert why(notes, B, "") == "", "it is gone: there is nothing to be lost"
    assert why(notes, Session("shop/a", "2"), "s") == "", "it wrote it itself, in an earlier conversation"
    notes.has_read(B, X, "s", 2.0, 0.0)
    assert why(notes, B, "s") == ""


def test_a_change_during_a_reading_counts_as_not_seen() -> None:
    notes = FileNotes()
    notes.begin_reading(A, X, "before", 0.0)
    notes.has_read(A, X, "after", 1.0, 1.0)
    assert why(notes, A, "after") == CHANGED
    assert why(notes, A, "before") == ""


def test_a_reading_that_failed_or_is_long_ago_leaves_nothing_behind() -> None:
    notes = FileNotes()
    notes.has_read(A, X, "s", 1.0, 0.0)
    notes.begin_reading(A, X, "t", 0.0)
    notes.failed(A, X)
    assert why(notes, A, "t") == CHANGED, "it has not seen it"
    notes.begin_reading(A, X, "old", 0.0)
    notes.has_read(A, X, "new", 9.0, UNDER_WAY_SECONDS + 1)
    assert why(notes, A, "new") == ""


def test_only_one_writes_at_a_time_and_not_for_ever() -> None:
    notes = FileNotes()
    notes.begin_writing(A, X, "s", 0.0)
    assert why(notes, B, "s", 1.0) == BEING_WRITTEN
    assert why(notes, B, "s", UNDER_WAY_SECONDS + 1) == ""
    assert notes.unfinished(A, 1.0) == [X]
    assert notes.unfinished(A, UNDER_WAY_SECONDS + 1) == []
    notes.over(A)
    assert why(notes, B, "s", 1.0) == ""


def test_who_has_ended_since_the_file_was_looked_at_counts_as_writing() -> None:
    notes = FileNotes()
    notes.has_read(B, X, "s", 1.0, 0.0)
    notes.begin_writing(A, X, "s", 0.0)
    busy = notes.being_written(1.0)
    notes.wrote(A, X, "t", 2.0)
    objection = notes.objection(B, X, "s", busy)
    assert objection is not None
    assert objection.why == BEING_WRITTEN


def test_who_has_not_said_to_be_done_may_write_once_more_what_is_as_it_was() -> None:
    notes = FileNotes()
    notes.has_read(A, X, "s", 1.0, 0.0)
    notes.begin_writing(A, X, "s", 0.0)
    assert why(notes, A, "s", 1.0) == "", "two writes of one session, announced before the first is done"
    assert why(notes, A, "t", 1.0) == CHANGED, "by whom nobody can tell"
    notes.has_read(A, X, "t", 2.0, 1.0)
    assert why(notes, A, "t", 1.0) == ""


def test_a_new_file_that_is_being_written_may_be_written_once_more_by_the_same_session() -> None:
    notes = FileNotes()
    notes.begin_writing(A, X, "s", 0.0)
    assert why(notes, A, "", 1.0) == ""
    assert why(notes, A, "s", 1.0) == ""


@pytest.mark.parametrize("known", [True, False])
def test_a_writing_of_which_no_end_is_told_makes_nobodys_change_its_own(known: bool) -> None:
    """The tool was declined, say, and then a person changed the file."""
    notes = FileNotes()
    if known:
        notes.has_read(A, X, "s", 1.0, 0.0)
    notes.begin_writing(A, X, "s", 0.0)
    notes.left(A, X, "t", 2.0)
    assert why(notes, A, "t") == CHANGED, "whose contents these are, nobody can tell"
    assert why(notes, B, "t") == UNSEEN, "they may be of the first one"
    notes.has_read(A, X, "t", 3.0, 0.0)
    assert why(notes, A, "t") == ""
    assert why(notes, B, "t") == UNSEEN, "they may be its own still"


def test_a_writing_that_never_happened_changes_nothing() -> None:
    notes = FileNotes()
    notes.begin_writing(A, X, "s", 0.0)
    assert notes.left(A, X, "s", 2.0) == []
    assert notes.known(A, X) is None
    assert why(notes, B, "s", 1.0) == "", "nor is it being written any more"


def test_who_was_told_of_a_change_is_not_refused_for_it_again() -> None:
    notes = FileNotes()
    notes.has_read(A, X, "s", 1.0, 0.0)
    notes.was_told(A, X, "t", 2.0)
    assert why(notes, A, "t") == ""
    assert why(notes, A, "u") == CHANGED


def test_the_oldest_notes_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_notes, "MOST_OF_ONE", 2)
    monkeypatch.setattr(file_notes, "MOST_NOTES", 3)
    notes = FileNotes()
    assert notes.has_read(A, "1", "s", 1.0, 0.0) == []
    assert notes.has_read(A, "2", "s", 2.0, 0.0) == []
    assert notes.has_read(A, "1", "s", 3.0, 0.0) == []
    assert notes.has_read(A, "3", "s", 4.0, 0.0) == [(A, "2")], "the one that was noted longest ago"
    assert notes.has_read(B, "1", "s", 5.0, 0.0) == []
    assert notes.has_read(B, "2", "s", 6.0, 0.0) == [(A, "1")]
    assert notes.known(A, "1") is None
    assert notes.known(A, "3") is not None


def test_what_is_under_way_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_notes, "MOST_UNDER_WAY", 2)
    notes = FileNotes()
    for number in range(5):
        notes.begin_writing(A, f"/{number}", "s", 0.0)
    assert len(notes.being_written(1.0)) == 2


def test_with_somebody_all_that_is_known_of_them_goes() -> None:
    notes = FileNotes()
    notes.wrote(A, X, "s", 1.0)
    notes.wrote(Session("shop/a", "2"), "/r/y", "s", 1.0)
    notes.wrote(B, "/r/z", "s", 1.0)
    assert set(notes.forget("shop/a")) == {(A, X), (Session("shop/a", "2"), "/r/y")}
    assert why(notes, B, "s") == ""
    assert notes.known(B, "/r/z") is not None
    assert notes.forget("nobody") == []


def test_notes_are_the_same_after_they_were_stored() -> None:
    notes = FileNotes([(B, X, Note("t", 2.0, wrote=True)), (A, X, Note("s", 1.0, wrote=True))])
    objection = notes.objection(A, X, "t", {})
    assert objection is not None
    assert (objection.why, objection.by) == (CHANGED, "shop/b")
