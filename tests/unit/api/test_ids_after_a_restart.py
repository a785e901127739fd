"""Whose a process is, is not kept over a restart of the daemon; its id becomes nobody else's for that."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from corral.domain import states
from corral.domain.errors import RefusedError, UnavailableError
from corral.ports.processes import Process
from corral.service import authority, lists
from corral.service.process_finding import ProcessFinding
from tests.support.records import PERSON
from tests.unit.api.deciding import Scripted, decided
from tests.unit.api.process_scene import started
from tests.unit.api.scene import Reply, Scene


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "LIST_SECONDS", 0.3)


def played(tmp_path: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    decided(tmp_path, Scripted(lambda _: True), act, several=True)


async def mine(scene: Scene) -> str:
    """A process of mine that runs, of which the daemon does not know since it was started anew."""
    process, _ = await started(scene)
    scene.processes._known = ProcessFinding(scene.registry, scene.services.supervisor)
    return process


async def taken(scene: Scene, process: str) -> Reply:
    """Another person's agent starts something of that id."""
    return await scene.exec("team=toys&agent=z", argv=["cat"], background=True, process_id=process)


def test_an_id_that_is_anothers_already_starts_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        process = await mine(scene)
        reply = await taken(scene, process)
        assert (reply.status, reply.error["code"]) == (404, "not_found")
        assert not scene.keepers["ann"].played
        assert (await scene.ask("GET", f"/v1/processes/{process}")).json["agent"] == "a"
        # What is started anew costs no look: it was done once.
        looks = [verb for verb, _ in scene.keeper.asked].count("processes")
        assert (await scene.exec("agent=a", argv=["job"], background=True)).status == 200
        assert [verb for verb, _ in scene.keeper.asked].count("processes") == looks

    played(tmp_path, act)


def test_whose_it_is_may_ask_for_it_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        process = await mine(scene)
        again = await scene.exec("agent=a", argv=["job"], background=True, process_id=process)
        assert (again.status, len(scene.keeper.played)) == (200, 1)

    played(tmp_path, act)


@pytest.mark.parametrize("meanwhile", ["the right is gone", "the agent was stopped"])
def test_who_waits_for_the_keepers_to_be_asked_is_decided_about_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    monkeypatch.setattr(authority, "_FRESH_SECONDS", 0.0)
    may = [True]

    async def act(scene: Scene) -> None:
        await mine(scene)
        asked = asyncio.Event()

        async def silent(team: str, agent: str) -> list[Process]:
            asked.set()
            await asyncio.Event().wait()
            return []

        scene.keepers["ann"].processes = silent  # type: ignore[method-assign]
        before = len(scene.keeper.played)
        order = {"argv": ["job"], "background": True}
        waiting = asyncio.ensure_future(scene.exec("agent=a", process_id="p0123456789", **order))
        await asked.wait()
        # Nobody waits for that whose id is made by the daemon.
        assert (await scene.exec("agent=a", **order)).status == 200
        assert not waiting.done()
        if meanwhile == "the right is gone":
            may[0] = False
        else:
            agent = replace(scene.registry.agent("shop", "a"), state=states.STOPPED)
            await scene.registry.commit(PERSON, agents=[agent])
        code = "not_found" if meanwhile == "the right is gone" else "failed"
        assert (await waiting).error["code"] == code
        assert len(scene.keeper.played) == before + 1

    decided(tmp_path, Scripted(lambda question: may[0] or not question.on.team), act, several=True)


def test_one_that_was_taken_while_a_keeper_was_silent_is_nobodys_without_an_agent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        process = await mine(scene)
        answers = scene.keeper.processes

        async def silent(team: str, agent: str) -> list[Process]:
            await asyncio.Event().wait()
            return []

        scene.keeper.processes = silent  # type: ignore[method-assign]
        assert (await taken(scene, process)).status == 200  # nobody waits for my keeper without an end
        scene.keeper.processes = answers  # type: ignore[method-assign]
        assert len((await scene.ask("GET", "/v1/processes")).json) == 2
        for method, path in (("GET", ""), ("GET", "/output"), ("POST", "/write")):
            reply = await scene.ask(method, f"/v1/processes/{process}{path}", b"secret" if path == "/write" else None)
            assert (reply.status, "--agent" in reply.error["remedy"]) == (409, True)
        assert scene.keepers["ann"].only().read == b""
        for team, agent in (("shop", "a"), ("toys", "z")):
            found = await scene.ask("GET", f"/v1/processes/{process}?team={team}&agent={agent}")
            assert found.json["agent"] == agent
        assert (await taken(scene, process)).status == 404

    played(tmp_path, act)


def test_a_keeper_that_was_silent_can_say_once_what_its_agents_have_and_no_more(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        process = await mine(scene)
        liar, claims = scene.keepers["ann"], list[str]()

        async def lies(team: str, agent: str) -> list[Process]:
            if not agent:
                await asyncio.Event().wait()
            seen = (await scene.keeper.processes("shop", ""))[0]
            return [msgspec.structs.replace(seen, agent="z", process=claim) for claim in claims]

        liar.processes = lies  # type: ignore[method-assign]
        assert len((await scene.ask("GET", "/v1/processes")).json) == 1
        for claim, is_believed in ((process, True), (await later(scene), False)):
            claims[:] = [claim]
            assert (await scene.ask("GET", "/v1/processes?team=toys&agent=z")).status == 200
            reply = await scene.ask("GET", f"/v1/processes/{claim}")
            assert reply.status == (409 if is_believed else 200), claim

    played(tmp_path, act)


async def later(scene: Scene) -> str:
    """A process that this daemon has started."""
    return str((await scene.exec("agent=a", argv=["job"], background=True)).json["process_id"])


async def contested(scene: Scene) -> str:
    """A process of mine whose id ann's agent has as well."""
    process = await mine(scene)
    answers = scene.keeper.processes

    async def silent(team: str, agent: str) -> list[Process]:
        await asyncio.Event().wait()
        return []

    scene.keeper.processes = silent  # type: ignore[method-assign]
    assert (await taken(scene, process)).status == 200
    scene.keeper.processes = answers  # type: ignore[method-assign]
    assert len((await scene.ask("GET", "/v1/processes")).json) == 2
    return process


@pytest.mark.parametrize(
    ("hidden", "statuses"),
    [
        ((), (409, 200, 200)),
        (("toys",), (200, 200, 404)),
        (("shop", "toys"), (404, 404, 404)),
    ],
)
def test_of_two_who_have_an_id_only_those_count_whom_the_caller_sees_and_names(
    tmp_path: Path, hidden: tuple[str, ...], statuses: tuple[int, ...]
) -> None:
    now: tuple[str, ...] = ()
    policy = Scripted(lambda question: question.on.team not in now)

    async def act(scene: Scene) -> None:
        nonlocal now
        process = await contested(scene)
        now = hidden
        replies = [
            await scene.ask("GET", f"/v1/processes/{process}{query}") for query in ("", "?team=shop", "?team=toys")
        ]
        assert tuple(reply.status for reply in replies) == statuses
        for reply, agent in zip(replies, ("a", "a", "z"), strict=True):
            assert reply.status != 200 or reply.json["agent"] == agent
            assert reply.status != 404 or "two agents" not in reply.error["message"]

    decided(tmp_path, policy, act, several=True)


@pytest.mark.parametrize("known_before", [False, True])
def test_the_id_of_a_start_that_may_have_been_one_stays_its_agents(tmp_path: Path, known_before: bool) -> None:
    async def act(scene: Scene) -> None:
        process = str((await started(scene))[0]) if known_before else "p0123456789"
        execute = scene.keeper.execute

        async def lost(*arguments: object) -> object:
            await execute(*arguments)  # type: ignore[arg-type]
            raise RefusedError("it is there", "") if known_before else UnavailableError("its keeper went away", "")

        scene.keeper.execute = lost  # type: ignore[method-assign,assignment]
        reply = await scene.exec("agent=a", argv=["job"], background=True, process_id=process)
        assert reply.status == (409 if known_before else 503)
        assert (await taken(scene, process)).status == 404
        assert not scene.keepers["ann"].played
        assert (await scene.ask("GET", f"/v1/processes/{process}")).json["agent"] == "a"

    played(tmp_path, act)
