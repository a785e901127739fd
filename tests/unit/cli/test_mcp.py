"""`corral mcp`: whose server it is. What it serves is in tests/integration/test_mcp.py."""

import pytest

from tests.unit.cli.conftest import Corral


@pytest.mark.parametrize(
    "environment", [{}, {"CORRAL_TEAM": "shop"}, {"CORRAL_AGENT": "api"}, {"CORRAL_TEAM": "", "CORRAL_AGENT": "api"}]
)
def test_without_an_agent_it_says_so(
    corral: Corral, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    outcome = corral("mcp", "--json")
    assert (outcome.code, outcome.out, outcome.error["code"]) == (2, "", "wrong_use")
    assert "CORRAL_TEAM and CORRAL_AGENT" in outcome.error["message"]


def test_the_variable_may_name_the_team_as_well(corral: Corral, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[str, str]] = []

    def serve(_: object, team: str, agent: str) -> int:
        served.append((team, agent))
        return 0

    monkeypatch.setattr("corral.mcp.server.serve", serve)
    monkeypatch.setenv("CORRAL_AGENT", "shop/api")
    assert corral("mcp").code == 0
    assert served == [("shop", "api")]


def test_an_agent_alone_needs_its_team(corral: Corral) -> None:
    assert corral("mcp", "--agent", "api").code == 2


def test_two_teams_are_one_too_many(corral: Corral) -> None:
    assert corral("mcp", "--agent", "shop/api", "--team", "other").code == 2
