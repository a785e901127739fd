"""Whose agents are, for whoever is told of others at their terminals."""

from typing import Any, cast

import pytest

from corral.domain.records import Who
from corral.service.ownership import among, owns


class Known:
    """Of members and of teams: builder is the user of an agent of ann's, whose team it is."""

    def person_of(self, user: str) -> str:
        return {"ann": "ann", "ben": "ben", "builder": "ann"}.get(user, "")

    def __init__(self) -> None:
        self.teams: dict[str, Any] = {}


class Agent:
    team = "shop"

    def __init__(self, user: str) -> None:
        self.user = user


@pytest.mark.parametrize(
    ("who", "runs_as", "own"),
    [("ann", "ann", True), ("ann", "builder", True), ("builder", "ann", True), ("ben", "builder", False)],
)
def test_an_agent_with_a_user_of_its_own_is_its_persons(who: str, runs_as: str, own: bool) -> None:
    known = cast(Any, Known())
    assert owns(known, known, Who(user=who, uid=1), cast(Any, Agent(runs_as))) is own


def test_without_members_it_is_who_runs_it() -> None:
    known = cast(Any, Known())
    assert owns(known, None, Who(user="ann", uid=1), cast(Any, Agent("ann")))
    assert not owns(known, None, Who(user="ben", uid=1), cast(Any, Agent("ann")))


def test_what_a_user_has_counts_for_its_person() -> None:
    person_of = among(cast(Any, Known()))
    assert [person_of(user) for user in ("ann", "builder", "ben", "gone")] == ["ann", "ann", "ben", "gone"]
    assert among(None)("ann") == ""
