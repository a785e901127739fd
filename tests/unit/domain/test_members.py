"""Who can be what on a shared server: what is refused, what stays as it is, and whose an OS user is."""

from dataclasses import replace

import pytest

from corral.adapters.policy.sources import read
from corral.domain import members
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError
from corral.domain.members import Account, Member, Wanted

TABLES = read().tables
ANN = Member(user="ann", uid=1001, role="senior", teams=("shop",), since=5.0, by="root")
BOT = Member(user="agent-builder", uid=1010, role="agent", of="ann", since=6.0, by="ann")
KNOWN = {one.user: one for one in (ANN, BOT)}
#: Who was a member before, and under which number.
FORMER = {"cleo": 1004, "dan": 1005}
ACCOUNTS = {
    "cleo": Account(user="cleo", uid=1004),
    "dan": Account(user="dan", uid=1006),
    "ann": Account(user="ann", uid=1001, groups=frozenset({"corral-members"}), lingers=True),
    "ben": Account(user="ben", uid=1002),
    "agent-builder": Account(user="agent-builder", uid=1010, groups=frozenset({"corral-agents"}), lingers=True),
    "daemon": Account(user="daemon", uid=1),
    "nobody": Account(user="nobody", uid=65534),
    "Ben.Big": Account(user="Ben.Big", uid=1003),
    "twin": Account(user="twin", uid=1001, namesake="ann"),
}


def become(
    user: str, role: str = "", teams: tuple[str, ...] | None = None, of: str = "", *, inherits: bool = False
) -> Member:
    wanted = Wanted(user=user, role=role, teams=teams, of=of, inherits=inherits)
    return members.become(KNOWN, wanted, ACCOUNTS.get(user), TABLES, now=9.0, by="olga", former=FORMER)


def test_somebody_new_has_what_was_said_and_who_said_it() -> None:
    assert become("ben", "junior", ("shop", "bank", "shop")) == Member(
        user="ben", uid=1002, role="junior", teams=("bank", "shop"), since=9.0, by="olga"
    )
    assert become("ben", "agent", of="ann") == Member(
        user="ben", uid=1002, role="agent", of="ann", since=9.0, by="olga"
    )


def test_a_second_name_of_an_account_is_nobody_of_its_own() -> None:
    with pytest.raises(RefusedError, match="twin is not the only name of that account: uid 1001 is that of ann"):
        become("twin", "junior")
    twin = Member(user="twin", uid=1001, role="junior")
    assert members.problems(twin, ACCOUNTS["twin"]) == ["uid 1001 is that of ann"]


def test_whoever_comes_back_is_who_they_were() -> None:
    assert become("cleo", "junior").uid == 1004


def test_a_namesake_of_somebody_who_left_does_not_get_what_they_left_unless_it_is_said() -> None:
    with pytest.raises(RefusedError, match="was a member before under uid 1005, and has uid 1006 now") as refused:
        become("dan", "junior")
    assert "--inherit" in refused.value.remedy
    assert become("dan", "junior", inherits=True).uid == 1006


def test_what_is_so_already_stays_the_same_record() -> None:
    assert become("ann", "senior") is ANN
    assert become("ann", "senior", ("shop",)) is ANN
    assert become("ann") is ANN
    assert become("agent-builder", "agent") is BOT


def test_a_change_keeps_since_when_and_by_whom_and_what_was_not_named() -> None:
    assert become("ann", "owner") == replace(ANN, role="owner")
    assert become("ann", teams=()) == replace(ANN, teams=())


@pytest.mark.parametrize(
    ("user", "role", "kind", "told"),
    [
        ("eve", "junior", NotFoundError, "there is no user eve"),
        ("root", "owner", RefusedError, "always an owner"),
        ("daemon", "junior", RefusedError, "account of the system"),
        ("nobody", "junior", RefusedError, "account of the system"),
        ("Ben.Big", "junior", RefusedError, "nothing can be started"),
        ("ben", "", WrongUseError, "which role"),
        ("ben", "chief", WrongUseError, "there is no role 'chief'"),
        ("ben", "agent", WrongUseError, "whose are the agents of ben"),
        ("ann", "agent", RefusedError, "is a person and cannot become one of agents"),
        ("agent-builder", "junior", RefusedError, "is a user of agents of ann and cannot become a person"),
    ],
)
def test_what_cannot_be_is_refused(user: str, role: str, kind: type[CorralError], told: str) -> None:
    with pytest.raises(kind, match=told) as refused:
        become(user, role)
    assert refused.value.remedy


def test_a_role_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(WrongUseError) as refused:
        become("ben", "chief")
    assert refused.value.remedy == "there are: owner, senior, junior, observer, agent"


@pytest.mark.parametrize(
    ("role", "of", "teams", "told"),
    [
        ("junior", "ann", None, "people are nobody's"),
        ("agent", "eve", None, "eve is no person of this host"),
        ("agent", "agent-builder", None, "agent-builder is no person"),
        ("agent", "ann", ("shop",), "in no team"),
        ("junior", "", ("No Team",), "cannot be a team"),
        ("junior", "", tuple(f"t{number}" for number in range(101)), "100 teams at most"),
    ],
)
def test_whose_and_which_teams_have_to_make_sense(role: str, of: str, teams: tuple[str, ...] | None, told: str) -> None:
    with pytest.raises((WrongUseError, RefusedError), match=told):
        become("ben", role, teams, of)


def test_who_got_the_name_of_a_member_is_not_that_member() -> None:
    other = replace(ACCOUNTS["ann"], uid=1999)
    with pytest.raises(RefusedError, match="another account now"):
        members.become(KNOWN, Wanted(user="ann"), other, TABLES, now=0.0, by="olga", former={})
    assert members.problems(ANN, other) == ["ann is another account now (uid 1999)"]


def test_a_name_that_the_system_writes_otherwise_is_no_user() -> None:
    with pytest.raises(NotFoundError):
        members.become({}, Wanted(user="ANN", role="junior"), ACCOUNTS["ann"], TABLES, now=0.0, by="olga", former={})


def test_whom_the_system_keeps_out_only_root_lets_in() -> None:
    members.must_be_in_group(ANN, ACCOUNTS["ann"], inherits=False)
    members.must_be_in_group(BOT, ACCOUNTS["agent-builder"], inherits=False)
    with pytest.raises(RefusedError) as refused:
        members.must_be_in_group(replace(BOT, user="ben"), ACCOUNTS["ben"], inherits=False)
    assert refused.value.remedy == "sudo corral member add ben --role agent --of ann does both"
    with pytest.raises(RefusedError) as refused:
        members.must_be_in_group(replace(ANN, user="ben"), ACCOUNTS["agent-builder"], inherits=True)
    assert refused.value.remedy == "sudo corral member add ben --role senior --team shop --inherit does both"


def test_whoever_leaves_has_no_team_up_and_no_users_of_agents() -> None:
    assert members.leave(KNOWN, "agent-builder", [], force=False) is BOT
    with pytest.raises(RefusedError, match="agent-builder"):
        members.leave(KNOWN, "ann", [], force=True)
    alone = {"ann": ANN}
    with pytest.raises(RefusedError, match="teams of ann are up: bank, shop"):
        members.leave(alone, "ann", ["shop", "bank", "shop"], force=False)
    assert members.leave(alone, "ann", ["shop"], force=True) is ANN
    for user in ("eve", "root"):
        with pytest.raises(NotFoundError):
            members.leave(alone, user, [], force=True)


def test_whose_a_user_is() -> None:
    people = {user: members.person_of(KNOWN, user) for user in ("ann", "agent-builder", "root", "eve", "")}
    assert people == {"ann": "ann", "agent-builder": "ann", "root": "root", "eve": "", "": ""}
    assert members.agent_users(KNOWN, "ann") == ["agent-builder"]
    assert members.agent_users(KNOWN, "eve") == []


def test_a_change_concerns_the_roles_that_it_gives_and_takes() -> None:
    assert members.roles_concerned(None, ANN) == ("senior",)
    assert members.roles_concerned(ANN, None) == ("senior",)
    assert members.roles_concerned(ANN, replace(ANN, role="owner")) == ("owner", "senior")
    assert members.roles_concerned(ANN, ANN) == ("senior",)


def test_what_keeps_a_member_from_working_is_told() -> None:
    assert members.problems(ANN, ACCOUNTS["ann"]) == []
    assert members.problems(ANN, None) == ["there is no user ann on this host any more"]
    bare = replace(ACCOUNTS["ann"], groups=frozenset({"corral-agents"}), lingers=False)
    assert members.problems(ANN, bare) == ["not in the group corral-members", "linger is off"]
