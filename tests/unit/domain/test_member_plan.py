"""What is done with an account so that somebody is a member, or is none: in order, and nothing that is so already."""

from dataclasses import replace

import pytest

from corral.domain.errors import RefusedError
from corral.domain.host_names import AGENTS, MEMBERS
from corral.domain.host_plan import Step
from corral.domain.member_plan import FORGET_MEMBER, NOTE_MEMBER, AccountSeen, join, leave, remarks

NEW = AccountSeen(user="ann", uid=1001, own_group="ann")
DONE = replace(NEW, groups=frozenset({MEMBERS}), lingers=True, noted=True)
NOTE = [Step(NOTE_MEMBER, "ann", "note ann", "new")]
FORGET = [Step(FORGET_MEMBER, "ann", "strike ann", "a member")]


def brief(steps: list[Step]) -> list[str]:
    assert {step.subject for step in steps} <= {"ann", "olga:ann"}
    return [step.action for step in steps]


def test_the_record_comes_last_and_the_group_before_linger() -> None:
    assert brief(join(NEW, MEMBERS, NOTE)) == ["join_members", "linger_on", "note_member"]
    assert brief(join(NEW, AGENTS, NOTE)) == ["join_agents", "linger_on", "note_member"]


def test_what_is_so_already_is_not_done() -> None:
    assert join(DONE, MEMBERS, []) == []
    assert brief(join(replace(DONE, lingers=False), MEMBERS, NOTE)) == ["linger_on", "note_member"]


def test_the_record_goes_first_and_linger_only_if_it_was_corrals() -> None:
    keeper = replace(DONE, has_keeper=True)
    assert brief(leave(keeper, FORGET)) == ["forget_member", "leave_members", "stop_keeper", "linger_off"]
    assert brief(leave(replace(DONE, noted=False), FORGET)) == ["forget_member", "leave_members"]
    assert brief(leave(replace(DONE, groups=frozenset({AGENTS})), [])) == ["leave_agents", "linger_off"]
    assert leave(NEW, []) == []


def test_nobody_can_be_taken_out_of_their_own_group() -> None:
    with pytest.raises(RefusedError, match="own group of ann"):
        leave(replace(DONE, own_group=MEMBERS), FORGET)


def test_whose_a_user_of_agents_is_shares_its_group() -> None:
    assert brief(join(NEW, AGENTS, NOTE, "olga")) == ["join_agents", "linger_on", "join_user", "note_member"]
    shared = replace(DONE, groups=frozenset({AGENTS}), users=frozenset({"olga"}))
    assert join(shared, AGENTS, [], "olga") == []
    assert join(replace(shared, users=frozenset(), own_group="staff"), AGENTS, [], "olga") == [], "that is not its own"
    assert brief(join(replace(shared, users=frozenset({"olga"})), AGENTS, [], "olga", "olga")) == []
    assert brief(join(shared, AGENTS, NOTE, "", "olga")) == ["leave_user", "note_member"]
    assert brief(leave(shared, FORGET, "olga")) == ["leave_user", "forget_member", "leave_agents", "linger_off"]
    assert brief(leave(shared, FORGET, "eve")) == ["forget_member", "leave_agents", "linger_off"]
    at_login, anew = remarks(replace(shared, users=frozenset()), shared, "olga")
    assert at_login == "olga is in the group ann from the next log-in on"
    assert "systemctl restart user@$(id -u olga).service" in anew
    assert remarks(shared, shared, "olga") == []
    assert remarks(NEW, DONE) == [], "the door is open at once"
