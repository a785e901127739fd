"""The names of systemd units: readable, of one meaning, and never too long."""

import pytest

from corral.domain import names, units

INSTANCE = "0123456789abcdef"
LONGEST = "-".join("x" * 20) + "y"


def test_an_agent_is_named_and_has_another_name_where_that_is_taken() -> None:
    assert units.agent_scopes("shop", "api", INSTANCE) == ("corral-shop-api.scope", "corral-shop-api.012345.scope")


def test_what_corral_needs_for_itself_looks_like_no_agent() -> None:
    assert units.server_scope("tmux", "shop", INSTANCE) == "corral.tmux-shop.012345.scope"
    assert units.process_scope("keeper", INSTANCE) == "corral.keeper.012345.scope"
    assert units.own_scopes("corral.keeper.012345.scope", 7) == (
        "corral.keeper.012345.scope", "corral.keeper.012345.7.scope",
    )  # fmt: skip


def test_a_dash_of_a_team_does_not_put_its_slice_into_that_of_another() -> None:
    assert units.team_slice("a") == "corral-a.slice"
    assert units.team_slice("a-b") == "corral-a\\x2db.slice"
    assert units.team_slice("a-b", "agents.slice") == "agents-a\\x2db.slice"
    assert units.team_slice_beside("a-b", units.ROOT_SLICE, INSTANCE) == "corral-a\\x2db.012345.slice"


@pytest.mark.parametrize(
    ("name", "around"),
    [
        ("corral.slice", ["corral.slice"]),
        ("a-b-c.slice", ["a.slice", "a-b.slice", "a-b-c.slice"]),
        ("corral-a\\x2db.slice", ["corral.slice", "corral-a\\x2db.slice"]),
        ("-.slice", []),
    ],
)
def test_a_slice_is_in_those_that_its_dashes_say(name: str, around: list[str]) -> None:
    assert units.slices_around(name) == around


def test_the_longest_names_fit() -> None:
    assert names.is_valid(LONGEST)
    assert len(LONGEST) == names.MAX_LENGTH
    longest = [
        *units.agent_scopes(LONGEST, LONGEST, INSTANCE),
        *units.own_scopes(units.server_scope("tmux", LONGEST, INSTANCE), 4194304),
        units.team_slice(LONGEST),
        units.team_slice_beside(LONGEST, units.ROOT_SLICE, INSTANCE),
    ]
    assert max(len(name) for name in longest) <= 255
    assert all(units.is_slice(name) for name in longest if name.endswith(".slice"))


@pytest.mark.parametrize("name", ["-.slice", "agents.slice", "a-b.slice", "a_b.c:d.slice", "a\\x2db.slice"])
def test_what_systemd_takes_for_a_slice(name: str) -> None:
    assert units.is_slice(name)


@pytest.mark.parametrize(
    "name", ["", "agents", "agents.scope", ".slice", "a/b.slice", "-a.slice", "a-.slice", "a--b.slice", "a b.slice"]
)
def test_what_is_no_name_of_a_slice(name: str) -> None:
    assert not units.is_slice(name)


def test_a_name_that_is_too_long_is_none() -> None:
    assert not units.is_slice("a" * 250 + ".slice")
