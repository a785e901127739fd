"""Whose a process is, by its id alone: no agent's id becomes another's by what somebody says."""

import pytest

from corral.service import process_owners
from corral.service.process_owners import Owner, ProcessOwners

ANNS, BOBS, STRANGERS = ("shop", "a"), ("toys", "z"), ("toys", "nobody")


def owners(known: set[Owner]) -> ProcessOwners:
    return ProcessOwners(lambda owner: owner in known)


def test_an_id_stays_that_of_the_agent_it_was_first_remembered_for() -> None:
    found = owners({ANNS, BOBS})
    found.remember("p1", ANNS)
    found.remember("p1", BOBS)
    assert found.get("p1") == ANNS


def test_an_id_of_an_agent_that_is_gone_may_become_anothers() -> None:
    known = {ANNS, BOBS}
    found = owners(known)
    found.remember("p1", ANNS)
    known.remove(ANNS)
    assert found.get("p1") is None
    found.remember("p1", BOBS)
    known.add(ANNS)
    assert found.get("p1") == BOBS


def test_of_an_agent_that_nobody_knows_nothing_is_remembered() -> None:
    known = {ANNS}
    found = owners(known)
    found.remember("p1", STRANGERS)
    known.add(STRANGERS)
    assert found.get("p1") is None


def test_only_whose_it_is_can_have_it_forgotten() -> None:
    found = owners({ANNS, BOBS})
    found.remember("p1", ANNS)
    found.forget("p1", BOBS)
    assert found.get("p1") == ANNS
    found.forget("p1", ANNS)
    found.forget("p1", ANNS)
    assert found.get("p1") is None


def test_one_with_many_ids_pushes_out_its_own_oldest_and_nobody_elses() -> None:
    found = owners({ANNS, BOBS})
    found.remember("p0", ANNS)
    for number in range(1, process_owners.MOST_REMEMBERED + 2):
        found.remember(f"p{number}", BOBS)
    assert found.get("p0") == ANNS
    assert found.get("p1") is None
    assert found.get("p2") == BOBS


def test_what_agents_had_that_are_gone_takes_no_room() -> None:
    known = {ANNS}
    found = owners(known)
    found.remember("p1", ANNS)
    found.remember("p2", ANNS)
    known.clear()
    known.add(BOBS)
    found.remember("p3", BOBS)
    assert list(found._owners) == ["p3"]


def contested(known: set[Owner]) -> ProcessOwners:
    """One id, which two agents have."""
    found = owners(known)
    found.remember("p1", ANNS)
    found.contest("p1", BOBS)
    found.remember("p1", BOBS)
    return found


def test_an_id_that_two_have_is_nobodys() -> None:
    found = contested({ANNS, BOBS})
    assert (found.get("p1"), found.is_contested("p1")) == (None, True)


@pytest.mark.parametrize("gone", [ANNS, BOBS])
def test_when_one_of_the_two_is_gone_it_is_the_others(gone: Owner) -> None:
    known = {ANNS, BOBS}
    found = contested(known)
    known.remove(gone)
    assert {found.get("p1"), gone} == {ANNS, BOBS}
    assert not found.is_contested("p1")
    known.add(gone)
    assert found.get("p1") != gone


@pytest.mark.parametrize("one", [ANNS, BOBS])
def test_when_one_of_the_two_does_not_have_it_any_more_it_is_the_others(one: Owner) -> None:
    found = contested({ANNS, BOBS})
    found.forget("p1", one)
    assert {found.get("p1"), one} == {ANNS, BOBS}


def test_when_both_are_gone_it_can_be_anybodys() -> None:
    known = {ANNS, BOBS}
    found = contested(known)
    known.clear()
    known.add(STRANGERS)
    assert found.get("p1") is None
    found.remember("p1", STRANGERS)
    assert found.get("p1") == STRANGERS


def test_of_three_two_are_left() -> None:
    known = {ANNS, BOBS, STRANGERS}
    found = contested(known)
    found.contest("p1", STRANGERS)
    known.remove(ANNS)
    assert found.is_contested("p1")
    known.remove(STRANGERS)
    assert found.get("p1") == BOBS
