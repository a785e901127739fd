"""No request of a shared server gets past the policy: every route of the table is tried."""

from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from corral.api.about_table import BODIES
from corral.api.endpoint import Endpoint
from corral.api.openapi_table import ENDPOINTS
from corral.domain.policy import Question, asked_as
from corral.service.authority import SEES
from tests.unit.api.deciding import Scripted, decided
from tests.unit.api.plausible import plausible
from tests.unit.api.scene import Scene

BY_NAME = {endpoint.handler: endpoint for endpoint in ENDPOINTS}
#: Fields of bodies that name what a request is about.
NAMING = {"team", "teams", "agent", "agents", "to", "file", "fixes", "person"}


def test_who_may_nothing_gets_nothing_of_any_route(tmp_path: Path) -> None:
    """Every route, asked by a person and by an agent."""
    wrong: list[str] = []

    async def act(scene: Scene) -> None:
        before = await scene.store.events()
        for endpoint in ENDPOINTS:
            target, body = plausible(endpoint)
            for agent in ("", "shop/a"):
                reply = await scene.ask(endpoint.method, target, body, agent=agent)
                if reply.status not in (403, 404):
                    wrong.append(f"{endpoint.handler} as {agent or 'a person'}: {reply.status} {reply.body[:200]!r}")
        assert await scene.store.events() == before

    notes = decided(tmp_path, Scripted(lambda _: False), act)
    assert wrong == []
    # Each of them is in the trail, as not allowed and with the rule.
    assert {note.verb for note in notes} == {asked_as(verb) for verb in BY_NAME}
    assert {(note.allowed, note.rule) for note in notes} == {(False, "no")}
    assert {note.outcome for note in notes} <= {"403", "404"}


def test_a_handler_is_reached_only_behind_a_decision_about_its_verb(tmp_path: Path) -> None:
    """All is allowed but one verb: then that is denied if the thing is there, and nobody was asked if it is not."""
    wrong: list[str] = []
    policy = Scripted(lambda _: False)

    async def act(scene: Scene) -> None:
        for handler, endpoint in BY_NAME.items():
            verb = asked_as(handler)
            policy.allows, policy.asked = partial(_all_but, verb), []
            target, body = plausible(endpoint)
            reply = await scene.ask(endpoint.method, target, body)
            # What has an id in its path is not there; what is named in the query is.
            missing = reply.status == 404 and (verb == SEES or ("{" in endpoint.path and not policy.about(verb)))
            if not missing and not (reply.status == 403 and policy.about(verb)):
                wrong.append(f"{handler}: {reply.status} {reply.body[:200]!r}, asked about {policy.about(verb)}")

    notes = decided(tmp_path, policy, act)
    assert wrong == []
    denied = dict.fromkeys((asked_as(handler), False) for handler in BY_NAME)
    assert list(dict.fromkeys((note.verb, note.allowed) for note in notes)) == list(denied)


def _all_but(verb: str, question: Question) -> bool:
    return question.verb != verb


def _names(kind: Any) -> set[str]:
    """The fields of a body, and of what is in it."""
    found: set[str] = set()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for name, hint in get_type_hints(kind).items():
            found |= {name} | _names(hint)
    for part in get_args(kind):
        found |= _names(part)
    return found


@pytest.mark.parametrize(
    "endpoint", [one for one in ENDPOINTS if isinstance(one.body, type)], ids=lambda one: one.handler
)
def test_bodies_that_name_what_they_are_about_are_read_before_it_is_decided(endpoint: Endpoint) -> None:
    naming = _names(endpoint.body) & NAMING
    assert bool(naming) <= (endpoint.handler in BODIES), naming
