"""The tables of a policy: read strictly, and laid one over another."""

import pytest

from corral.domain.errors import BadPolicyError, WrongUseError
from corral.domain.roles import merged, tables_of, with_team

DATA: dict[str, object] = {
    "tables": {
        "acts": {"read": "read"},
        "scopes": {"any": "anybody", "own": "their own"},
        "modes": {"observe": "read"},
        "verbs": {"logs": "read"},
        "roles": {"junior": {"summary": "new", "grants": {"read": ["own"]}, "over": [], "gives": ["junior"]}},
    }
}


def over(tables: dict[str, object]) -> dict[str, object]:
    return merged(DATA, {"tables": tables})


def test_a_role_is_read() -> None:
    junior = tables_of(DATA).role("junior")
    assert (junior.summary, junior.grants, junior.gives) == ("new", {"read": ("own",)}, ("junior",))


def test_a_role_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(WrongUseError) as raised:
        tables_of(DATA).role("chief")
    assert "junior" in raised.value.remedy


def test_data_over_data_is_merged_replaced_and_taken_away() -> None:
    below = {"a": {"b": 1, "c": [1, 2]}, "d": 1, "e": 1}
    assert merged(below, {"a": {"c": [3]}, "d": None, "f": {"g": None}}) == {"a": {"b": 1, "c": [3]}, "e": 1, "f": {}}
    assert below == {"a": {"b": 1, "c": [1, 2]}, "d": 1, "e": 1}


def test_a_host_changes_what_a_role_may_and_adds_one() -> None:
    tables = tables_of(over({"roles": {"junior": {"grants": {"read": ["any"]}}, "guest": {"grants": {}}}}))
    assert tables.role("junior").grants == {"read": ("any",)}
    assert tables.role("junior").summary == "new"
    assert tables.role("guest").grants == {}


def test_what_a_team_grants_is_its_own() -> None:
    tables = tables_of(with_team(DATA, "shop", {"roles": {"junior": {"grants": {"read": ["any"]}}}}))
    assert tables.teams["shop"]["junior"].grants == {"read": ("any",)}
    assert tables.role("junior").grants == {"read": ("own",)}


@pytest.mark.parametrize("junior", [None, {"grants": None}, {"grants": {"read": None}}, {"grants": {"read": []}}])
def test_what_a_team_takes_away_is_granted_to_nobody_there(junior: object) -> None:
    tables = tables_of(with_team(DATA, "shop", {"roles": {"junior": junior}}))
    assert tables.teams["shop"]["junior"].grants == {"read": ()}
    assert tables.role("junior").grants == {"read": ("own",)}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"tables": {"roles": {}}}, "the key 'tables'"),
        ({"roles": {"junoir": {"grants": {"read": []}}}}, "the role 'junoir'"),
        ({"roles": {"junoir": None}}, "the role 'junoir'"),
        ({"roles": {"junior": {"over": []}}}, "the key 'over'"),
        ({"roles": {"junior": {"gives": []}}}, "the key 'gives'"),
        ({"roles": {"junior": []}}, "no table"),
        ({"roles": {"junior": {"grants": []}}}, "no table"),
        ({"roles": None}, "no table"),
    ],
)
def test_what_would_take_away_nothing_is_refused(said: dict[str, object], told: str) -> None:
    with pytest.raises(BadPolicyError) as raised:
        with_team(DATA, "shop", said)
    assert told in raised.value.message
    assert raised.value.remedy


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"roles": {"junior": {"grants": {"raed": ["own"]}}}}, "the act 'raed'"),
        ({"roles": {"junior": {"grants": {"read": ["owm"]}}}}, "the scope 'owm'"),
        ({"roles": {"junior": {"grants": {"read": "own"}}}}, "no list of words"),
        ({"roles": {"junior": {"grant": {}}}}, "the key 'grant'"),
        ({"roles": {"junior": 1}}, "no table"),
        ({"roles": {"junior": {"summary": 1}}}, "no text"),
        ({"verbs": {"logs": "raed"}}, "the act 'raed'"),
        ({"verbs": {"logs": 1}}, "no text"),
        ({"modes": {"observe": "raed"}}, "the act 'raed'"),
        ({"teams": {"shop": {"junior": {"grants": {"raed": []}}}}}, "tables.teams.shop.junior"),
        ({"acts": None}, "tables.acts is no table"),
    ],
)
def test_a_mistake_is_told_and_nothing_is_taken_for_what_it_is_not(tables: dict[str, object], told: str) -> None:
    with pytest.raises(BadPolicyError) as raised:
        tables_of(over(tables))
    assert told in raised.value.message
    assert raised.value.remedy
