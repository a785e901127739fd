"""Every verb of the API has a rule: a new one that has none fails here, and is denied to everybody meanwhile."""

import pytest

from corral.adapters.policy.sources import read
from corral.api.openapi_table import ENDPOINTS
from corral.domain.policy import ATTACH, MODES, Decision, asked_as
from corral.domain.roles import Tables
from tests.support.permissions import decisions, question

#: Verbs of what comes with shared hosts, or that are no request to the daemon.
COMING = {
    "replay",
    "audit_export", "audit_verify",
    "policy_show",
    "host_check",
}  # fmt: skip
VERBS = sorted({endpoint.handler for endpoint in ENDPOINTS} | COMING)
REMEDY = "give it an act in src/corral/policy/data.json: tables.verbs"


@pytest.fixture(scope="module")
def said() -> dict[str, Decision]:
    """What the owner of a host is told, by verb: with a role, so that members can be added."""
    asked = [question("olga", verb if asked_as(verb) == ATTACH else f"{verb}:junior", "shop") for verb in VERBS]
    return dict(zip(VERBS, decisions(asked), strict=True))


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read().tables


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_a_rule(said: dict[str, Decision], tables: Tables, verb: str) -> None:
    assert asked_as(verb) == ATTACH or verb in tables.verbs, REMEDY
    assert said[verb].allow, f"{said[verb].reason}: {REMEDY}"


def test_attach_is_decided_by_its_mode(tables: Tables) -> None:
    assert set(tables.modes) == set(MODES)
    assert ATTACH not in tables.verbs


def test_no_verb_has_a_rule_that_nobody_can_ask_for(tables: Tables) -> None:
    assert set(tables.verbs) - set(VERBS) == set()


def test_every_act_is_named_and_granted_to_the_owner(tables: Tables) -> None:
    assert set(tables.roles["owner"].grants) == set(tables.acts)
    assert {act for role in tables.roles.values() for act in role.grants} == set(tables.acts)
