"""Who waits for its turn is decided about again when it has it: what it is about may be another's, or gone, by then."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from corral.domain import states
from corral.domain.errors import DeniedError, NotFoundError
from corral.domain.policy import Question
from corral.domain.records import Who
from corral.service.down import Receipt
from corral.service.turn import MayGoOn, as_decided
from tests.support.records import PERSON
from tests.unit.api.deciding import ME, People, Scripted, decided
from tests.unit.api.scene import Scene, play

ONE = {"team": "shop", "agents": ["a"], "all": False, "cwd": "/"}
#: What is asked for by those who wait for the lock of the team `shop`.
ASKED = [
    ("stop", ONE),
    ("stop", {"team": "shop", "agents": [], "all": True, "cwd": "/"}),
    ("stop", {"agents": ["a"], "all": False, "cwd": "/x"}),
    ("restart", ONE),
    ("remove", {**ONE, "force": True}),
    ("pause", ONE),
    ("resume", ONE),
    ("fork", {"team": "shop", "agent": "a", "name": "c", "cwd": "/"}),
    ("down", {"team": "shop", "cwd": "/", "discard": True}),
    ("down", {"cwd": "/x", "discard": True}),
]
PATHS = {"remove": "rm"}


def own(question: Question) -> bool:
    """Everybody sees everything, and does something to what is their own."""
    return question.verb.startswith("list_") or question.on.owner == question.who.user


@contextlib.asynccontextmanager
async def at_the_lock(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, verb: str, body: object
) -> AsyncIterator["asyncio.Future[bytes]"]:
    """In this block, somebody who asks for it waits for the lock of the team; behind it, they have their turn."""
    supervisor, waits = scene.services.supervisor, asyncio.Event()
    take = supervisor.lock

    def lock(team: str) -> AbstractAsyncContextManager[None]:
        waits.set()
        return take(team)

    async def ask() -> bytes:
        return (await scene.ask("POST", f"/v1/{PATHS.get(verb, verb)}", body)).body

    async with take("shop"):
        monkeypatch.setattr(supervisor, "lock", lock)
        asking = asyncio.ensure_future(ask())
        done, _ = await asyncio.wait(
            [asking, waiting := asyncio.ensure_future(waits.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        assert waiting in done, asking.result()
        yield asking


@pytest.mark.parametrize(("verb", "body"), ASKED)
def test_what_became_anothers_while_it_was_waited_for_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, body: object
) -> None:
    facts, policy = People(), Scripted(own)

    async def act(scene: Scene) -> None:
        async with at_the_lock(scene, monkeypatch, verb, body) as asking:
            facts.owners["shop"] = "ann"
            before = (dict(scene.registry.agents), await scene.store.events())
        assert b'"code":"denied"' in await asking, await asking
        assert (dict(scene.registry.agents), await scene.store.events()) == before

    notes = decided(tmp_path, policy, act, facts)
    assert {on.owner for on in policy.about(verb)} == {ME, "ann"}
    assert {(note.allowed, note.rule) for note in notes if note.verb == verb} >= {(True, "yes"), (False, "no")}


@pytest.mark.parametrize(("verb", "body"), ASKED)
def test_what_is_gone_when_its_turn_has_come_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, body: object
) -> None:
    """Also in the instance of one person, where nobody decides."""

    async def act(scene: Scene) -> None:
        async with at_the_lock(scene, monkeypatch, verb, body) as asking:
            agents = [key for key in scene.registry.agents if key[0] == "shop"]
            await scene.registry.commit(PERSON, drop_teams=["shop"], drop_agents=agents)
        assert b'"code":"not_found"' in await asking, await asking

    play(tmp_path, act)


def test_who_joins_a_down_that_is_denied_to_another_has_a_down_of_its_own(tmp_path: Path) -> None:
    async def refused() -> None:
        raise DeniedError("not yours", "", rule="no")

    async def act(scene: Scene) -> None:
        down, supervisor = scene.services.down, scene.services.supervisor
        turns: list[str] = []

        async def noted() -> None:
            turns.append("second")
            await scene.registry.commit(PERSON, drop_teams=["shop"])  # a quick end of it

        def ask(may_go_on: MayGoOn) -> "asyncio.Future[Receipt]":
            asked = down(PERSON, "shop", caller=0, grace=0.0, discard=False, tell=lambda _: None, may_go_on=may_go_on)
            return asyncio.ensure_future(asked)

        async with supervisor.lock("shop"):
            first = ask(refused)
            await asyncio.sleep(0)
            second = ask(noted)
            await asyncio.sleep(0)
        with pytest.raises(DeniedError):
            await first
        with pytest.raises(NotFoundError):
            await second
        assert turns == ["second"]

    play(tmp_path, act)


class Downs:
    """Some people say `down shop`; how it is done is played: each receipt tells whom it was made for."""

    def __init__(self, scene: Scene, monkeypatch: pytest.MonkeyPatch, *, shared: bool) -> None:
        self._down = scene.services.down
        self._go_on = asyncio.Event()
        self.done_for: list[str] = []
        monkeypatch.setattr(scene.services.supervisor.keepers, "shared", shared)
        monkeypatch.setattr(self._down, "_do", self._do)

    async def _do(self, who: Who, name: str, *_: object, **__: object) -> Receipt:
        await self._go_on.wait()
        self.done_for.append(who.user)
        return Receipt(team=name, clean=True, checks=(), seconds=0.0, stopped=[who.user])

    async def ask(self, user: str, may_go_on: MayGoOn = as_decided) -> "asyncio.Future[Receipt]":
        """It is under way when this returns."""
        asked = asyncio.ensure_future(
            self._down(
                Who(user=user, uid=1),
                "shop",
                caller=0,
                grace=0.0,
                discard=False,
                tell=lambda _: None,
                may_go_on=may_go_on,
            )
        )
        await asyncio.sleep(0)
        return asked

    def go_on(self) -> None:
        self._go_on.set()


def test_two_people_who_take_down_a_team_each_have_a_receipt_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a team at rest, each means what is in their own room."""

    async def act(scene: Scene) -> None:
        downs = Downs(scene, monkeypatch, shared=True)
        of_ann, of_ben = await downs.ask("ann"), await downs.ask("ben")
        downs.go_on()
        assert [(await one).stopped for one in (of_ann, of_ben)] == [["ann"], ["ben"]]

    play(tmp_path, act)


@pytest.mark.parametrize(("shared", "second"), [(True, "ann"), (False, "ann"), (False, "ben")])
def test_two_downs_of_one_person_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool, second: str
) -> None:
    """In the instance of one person, all are of that person."""

    async def act(scene: Scene) -> None:
        downs = Downs(scene, monkeypatch, shared=shared)
        both = await downs.ask("ann"), await downs.ask(second)
        downs.go_on()
        first, joined = [await one for one in both]
        assert first is joined
        assert downs.done_for == ["ann"]

    play(tmp_path, act)


def test_who_joins_a_down_and_may_not_go_on_is_not_given_its_receipt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused() -> None:
        assert downs_done == ["ann"], "it is asked when the other is done"
        raise DeniedError("not any more", "", rule="no")

    downs_done: list[str] = []

    async def act(scene: Scene) -> None:
        downs = Downs(scene, monkeypatch, shared=True)
        downs.done_for = downs_done
        first, joined = await downs.ask("ann"), await downs.ask("ann", refused)
        downs.go_on()
        assert (await first).stopped == ["ann"]
        with pytest.raises(DeniedError):
            await joined

    play(tmp_path, act)


def test_a_command_for_an_agent_that_was_looked_for_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is found out whether the agent lives, it can become another's."""
    facts, policy = People(), Scripted(own)

    async def act(scene: Scene) -> None:
        registry, supervisor = scene.registry, scene.services.supervisor
        await registry.observe([replace(registry.agent("shop", "a"), state=states.UNKNOWN)], [])

        async def be_certain(team: str, names: Sequence[str] = ()) -> None:
            facts.owners[team] = "ann"
            await registry.observe([replace(registry.agent("shop", "a"), state=states.RUNNING)], [])

        monkeypatch.setattr(supervisor, "be_certain", be_certain)
        assert (await scene.exec("agent=a&team=shop", argv=["true"])).status == 403
        assert scene.keeper.played == {}

    decided(tmp_path, policy, act, facts)
