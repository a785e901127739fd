"""What another's keeper says: its word, without what it would have people do, and where its user finds that."""

from corral.domain.errors import RefusedError
from corral.domain.foreign_words import as_told_to


def said(by: str) -> RefusedError:
    error = RefusedError("git refuses", "sudo rm -rf /")
    error.said_by = by
    return error


def test_its_user_is_told_all_of_it() -> None:
    assert as_told_to(said("ann"), "ann").remedy == "sudo rm -rf /"


def test_others_are_told_whose_word_it_is_and_where_the_rest_is() -> None:
    told = as_told_to(said("agent-builder"), "ann")
    assert (type(told), told.message) == (RefusedError, "the keeper of agent-builder says: git refuses")
    assert told.remedy == (
        "the log of that keeper has it whole, and what helps: "
        "journalctl --user -u corral-keeper.service, by agent-builder"
    )
