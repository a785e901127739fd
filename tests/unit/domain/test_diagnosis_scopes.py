"""Scopes that are active with nothing in them, and those with something."""

import pytest

from corral.domain.diagnosis import INFO, OK, WARNING
from corral.domain.diagnosis_cures import StopScope
from corral.domain.diagnosis_facts import REACHABLE, UNLINKED, Facts, Host, Marks, Records, Scope, Server
from corral.domain.diagnosis_scopes import is_watched, scopes

SPAWNED = "tmux child pane 4711 launched by process 50"
AGENT = "Corral agent shop/api (instance 0123456789ab)"


def scope(
    name: str, *, populated: bool | None, launcher: int = 50, active: bool = True, description: str = ""
) -> Scope:
    return Scope(
        name=name,
        active=active,
        control_group=f"/user.slice/{name}",
        description=description or f"tmux child pane 4711 launched by process {launcher}",
        populated=populated,
        processes=((60, "-bash"),) if populated else (),
    )


def facts(*found: Scope, standing: str = REACHABLE) -> Facts:
    marks = Marks(instance="0123456789ab", team="shop")
    server = Server(pid=50, start=1, user="ada", mine=True, path="/s", standing=standing, marks=marks)
    records = Records(source="store", instance="0123456789ab")
    return Facts(now=0, home="/h", records=records, servers=(server,), scopes=found, host=Host(user="ada"))


@pytest.mark.parametrize(
    ("name", "watched"),
    [
        ("tmux-spawn-0f3c.scope", True),
        ("corral-shop-api.scope", True),
        ("corral.tmux-shop.0123ab.scope", True),
        ("session-3.scope", False),
        ("tmux-spawn-0f3c.service", False),
        ("corraller.scope", False),
    ],
)
def test_which_ones_are_looked_at(name: str, watched: bool) -> None:
    assert is_watched(name) is watched


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("tmux-spawn-1.scope", SPAWNED),
        ("corral-shop-api.scope", AGENT),
        ("corral.tmux-shop.012345.scope", "tmux server of Corral's team shop"),
    ],
)
def test_an_active_one_with_nothing_in_it_can_be_stopped(name: str, description: str) -> None:
    (finding,) = scopes(facts(scope(name, populated=False, description=description)))
    assert (finding.severity, finding.ours) == (WARNING, True)
    assert finding.cure == StopScope(name, f"/user.slice/{name}")


def test_the_scope_of_an_agent_says_whose_it_was() -> None:
    (finding,) = scopes(facts(scope("corral-shop-api.scope", populated=False, description=AGENT)))
    assert (finding.details["team"], finding.details["agent"]) == ("shop", "api")


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("corral-shop-api.scope", "Corral agent shop/api (instance ba9876543210)"),
        ("corral.tmux-shop.ba9876.scope", "tmux server of Corral's team shop"),
        ("corral-shop-api.scope", "a name that anybody can choose"),
    ],
)
def test_one_of_another_instance_does_not_make_us_ill(name: str, description: str) -> None:
    (finding,) = scopes(facts(scope(name, populated=False, description=description)))
    assert (finding.ours, finding.details["team"]) == (False, "")
    assert finding.is_well


def test_an_empty_one_of_somebody_elses_server_can_be_stopped_too_but_does_not_make_us_ill() -> None:
    (finding,) = scopes(facts(scope("tmux-spawn-1.scope", populated=False, launcher=7)))
    assert finding.cure is not None
    assert not finding.ours
    assert finding.is_well


def test_one_that_is_not_active_is_no_finding() -> None:
    assert scopes(facts(scope("tmux-spawn-1.scope", populated=False, active=False))) == []


def test_one_in_use_is_shown_with_its_processes_and_never_stopped() -> None:
    (finding,) = scopes(facts(scope("tmux-spawn-1.scope", populated=True)))
    assert (finding.severity, finding.cure) == (OK, None)
    assert finding.details["processes"] == [{"pid": 60, "command": "-bash"}]


@pytest.mark.parametrize(("standing", "launcher", "words"), [(UNLINKED, 50, "cannot be reached"), ("", 7, "is gone")])
def test_one_whose_server_is_hidden_or_gone_is_told_of(standing: str, launcher: int, words: str) -> None:
    (finding,) = scopes(facts(scope("tmux-spawn-1.scope", populated=True, launcher=launcher), standing=standing))
    assert (finding.severity, finding.cure) == (INFO, None)
    assert words in finding.message


def test_one_that_cannot_be_looked_into_is_not_taken_for_empty() -> None:
    (finding,) = scopes(facts(scope("tmux-spawn-1.scope", populated=None)))
    assert finding.cure is None
