"""Tokens of members, over a real store: whose they are, when they end, and who is told."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corral.api.member_routes import Shared
from corral.domain.errors import NotFoundError
from corral.domain.identity import PERSON, REFUSED
from corral.domain.members import Wanted
from corral.domain.records import NOBODY_KNOWN, Who
from corral.domain.tokens import Token
from corral.service.far_callers import FarCallers
from corral.service.tokens import Tokens
from corral.wiring_tcp import Network
from tests.support.members import OLGA, ROOT, Crowd, crowd

ANN = Who(user="ann", uid=1001)


def run(directory: Path, act: Callable[[Crowd, Tokens], Awaitable[None]]) -> None:
    """With ann as a junior, and a user of agents of hers."""

    async def do() -> None:
        async with crowd(directory) as people:
            await people.members.put(ROOT, Wanted(user="ann", role="junior"))
            await people.members.put(ROOT, Wanted(user="agent-builder", role="agent", of="ann"))
            await act(people, await _tokens(people))

    asyncio.run(do())


def _nobody_to_hang_up(_uid: int, _but: object) -> None:
    """There are no connections."""


async def _tokens(people: Crowd) -> Tokens:
    # The policy is not asked here.
    return await Network(people.context, Shared(people.members, people.facts, None, _nobody_to_hang_up)).load()  # type: ignore[arg-type]


def test_a_token_is_told_once_kept_as_a_hash_and_journalled_by_its_id(tmp_path: Path) -> None:
    async def act(people: Crowd, tokens: Tokens) -> None:
        made, text = await tokens.add(ANN, "ann", note="laptop", seconds=None)
        assert (made.user, made.uid, made.by, made.note) == ("ann", 1001, "ann", "laptop")
        assert tokens.accepted(text) == made
        (item,) = await people.store.items("token")
        assert text.rpartition("_")[2].encode() not in item.value
        event = (await people.journal())[-1]
        assert (event.event, event.data) == ("token.added", {"id": made.id, "user": "ann", "note": "laptop"})
        assert (await _tokens(people)).accepted(text) == made, "another daemon knows it as well"

    run(tmp_path, act)


def test_only_people_who_are_members_can_have_one(tmp_path: Path) -> None:
    async def act(people: Crowd, tokens: Tokens) -> None:
        for user in ("root", "ben", "agent-builder", "nobody-at-all", ""):
            with pytest.raises(NotFoundError, match="no record as a member") as refused:
                await tokens.add(OLGA, user, note="", seconds=None)
            assert "corral token add --for" in refused.value.remedy
        assert len(tokens) == 0

    run(tmp_path, act)


def test_it_is_dead_when_it_is_revoked_and_whoever_watches_is_told(tmp_path: Path) -> None:
    async def act(people: Crowd, tokens: Tokens) -> None:
        made, text = await tokens.add(ANN, "ann", note="", seconds=None)
        told: list[bool] = []
        tokens.watch(lambda: told.append(tokens.is_good(made.id)))
        await tokens.remove(ANN, made.id)
        assert told == [False]
        assert isinstance(tokens.accepted(text), str)
        assert (await _tokens(people)).of("") == []
        with pytest.raises(NotFoundError):
            await tokens.remove(ANN, made.id)

    run(tmp_path, act)


def test_it_ends_with_its_person_and_does_not_come_back_with_them(tmp_path: Path) -> None:
    async def act(people: Crowd, tokens: Tokens) -> None:
        made, text = await tokens.add(ANN, "ann", note="", seconds=None)
        await people.members.put(ROOT, Wanted(user="ann", role="senior"))
        assert tokens.is_good(made.id), "another role is no other person"
        told: list[bool] = []
        people.members.watch(lambda: told.append(tokens.is_good(made.id)))
        await people.members.remove(ROOT, "agent-builder", force=False)
        await people.members.remove(ROOT, "ann", force=False)
        assert told == [True, False]
        await people.members.put(ROOT, Wanted(user="ann", role="junior"))
        assert isinstance(tokens.accepted(text), str)
        assert tokens.state(made) == "void"

    run(tmp_path, act)


@pytest.mark.parametrize("change", [{"groups": frozenset()}, {"uid": 4711}])
def test_whom_the_operating_system_keeps_out_does_not_come_in_by_a_token(tmp_path: Path, change: dict) -> None:  # type: ignore[type-arg]
    async def act(people: Crowd, tokens: Tokens) -> None:
        _, text = await tokens.add(ANN, "ann", note="", seconds=None)
        people.accounts.known["ann"] = replace(people.accounts.known["ann"], **change)
        assert isinstance((await _tokens(people)).accepted(text), str)

    run(tmp_path, act)


def test_who_asks_from_afar(tmp_path: Path) -> None:
    async def act(people: Crowd, tokens: Tokens) -> None:
        made, text = await tokens.add(ANN, "ann", note="", seconds=None)
        callers = FarCallers(tokens, None)
        found = callers.identify(f"Bearer {text}", claim="", shows_credential=False)
        assert (found.who, found.identity.kind, found.token) == (ANN, PERSON, made)
        assert callers.identify(f"bearer  {text} ", claim="", shows_credential=False).token == made
        for header in ("", text, f"Basic {text}", "Bearer", "Bearer ", f"Bearer {text}x", f"Bearer {text[:-1]}"):
            found = callers.identify(header, claim="", shows_credential=False)
            assert (found.who, found.identity.kind, found.token) == (NOBODY_KNOWN, REFUSED, None), header
        for claim, shows in (("shop/a", False), ("", True), ("service", False)):
            found = callers.identify(f"Bearer {text}", claim=claim, shows_credential=shows)
            assert (found.who, found.identity.kind, found.token) == (ANN, REFUSED, None)

    run(tmp_path, act)


def test_lists_are_in_order_and_of_one_person(tmp_path: Path) -> None:
    async def act(people: Crowd, tokens: Tokens) -> None:
        await people.members.put(ROOT, Wanted(user="ben", role="junior"))
        made: list[Token] = [(await tokens.add(ROOT, user, note="", seconds=None))[0] for user in ("ben", "ann", "ben")]
        assert tokens.of("") == made
        assert tokens.of("ben") == [made[0], made[2]]
        assert tokens.of("cleo") == []

    run(tmp_path, act)
