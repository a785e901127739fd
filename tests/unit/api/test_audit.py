"""Who sees what of the audit trail, and what a request is said to be about."""

import asyncio
import os

import pytest
from starlette.requests import Request

from corral.api import requests
from corral.api.audit_routes import own_entries
from corral.api.audit_sight import asked_entries
from corral.api.auditing import actor, target
from corral.domain.audit import GENESIS, ITSELF, Actor, Entry, Target
from corral.domain.identity import CLAIMED, PROVED, Identity
from corral.domain.records import Who
from corral.service.authority import Authority
from tests.support.audit import note
from tests.unit.api.deciding import ME, People, Scripted


def _request(uid: int, query: str = "", known: Identity | None = None) -> Request:
    state = {requests.CALLER: Who(user="ann", uid=uid)}
    request = Request({"type": "http", "query_string": query.encode(), "headers": [], "state": state})
    if known is not None:
        requests.set_identity(request, known)
    return request


@pytest.mark.parametrize(("uid", "seen"), [(0, True), (os.geteuid(), True), (1001, True), (1002, False)])
def test_people_see_what_they_did_themselves_and_whoever_runs_it_sees_everything(uid: int, seen: bool) -> None:
    entry = Entry(number=1, note=note(1, who=Actor(uid=1001, user="ann")), previous=GENESIS, hash=GENESIS)
    assert own_entries(_request(uid))(entry) is seen


def test_who_asks_is_what_the_kernel_says_and_an_agent_with_its_run_if_that_is_proved() -> None:
    claimed = Identity(kind=CLAIMED, agent="shop/api")
    assert actor(_request(7, known=claimed)) == Actor(uid=7, user="ann", agent="shop/api")
    proved = Identity(kind=PROVED, agent="shop/api", run="r1")
    assert actor(_request(7, known=proved)) == Actor(uid=7, user="ann", agent="shop/api", run="r1")


@pytest.mark.parametrize(
    ("who", "team", "seen"),
    [
        (Actor(uid=os.getuid(), user=ME), "toys", True),
        (Actor(uid=os.getuid() + 1, user=ME), "toys", False),
        (Actor(uid=1, user="ann"), "shop", False),
        (Actor(uid=1, user="ann", agent="shop/api"), "toys", True),
        (ITSELF, "shop", True),
        (ITSELF, "toys", False),
        (ITSELF, "", False),
    ],
)
def test_whose_an_entry_is_and_what_corral_did_itself_is_that_of_whom_it_was_done_to(
    who: Actor, team: str, seen: bool
) -> None:
    on = Target(kind="agent", team=team, agent="a") if team else Target()
    entry = Entry(number=1, note=note(1, who=who, on=on), previous=GENESIS, hash=GENESIS)

    async def look() -> bool:
        policy = Scripted(lambda question: question.on.owner == ME)
        request = _request(os.getuid())
        request.scope["state"][requests.CALLER] = Who(user=ME, uid=os.getuid())
        return await asyncio.to_thread(asked_entries(Authority(policy, People()))(request), entry)

    assert asyncio.run(look()) is seen


@pytest.mark.parametrize(
    ("query", "on"),
    [
        ("", Target(kind="host")),
        ("team=shop", Target(kind="team", team="shop")),
        ("team=shop&agent=api", Target(kind="agent", team="shop", agent="api")),
        ("agent=shop/api", Target(kind="agent", team="shop", agent="api")),
    ],
)
def test_what_a_request_is_about(query: str, on: Target) -> None:
    assert target(_request(7, query)) == on
