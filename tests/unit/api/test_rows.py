"""Lists and streams tell of what the caller may know of, row by row; the audit trail too."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.api import requests
from corral.domain.kv import Transaction
from corral.domain.policy import Decision, Question
from corral.domain.records import Event, NewEvent
from tests.support.records import PERSON
from tests.unit.api.deciding import ME, People, Scripted, decided
from tests.unit.api.scene import Scene


def own(question: Question) -> bool:
    return question.on.owner == question.who.user


class Settled(People):
    """Nothing changes unless it is said so: what was decided is remembered."""

    def stamp(self) -> int:
        return self.stamps


class ByHeart(Scripted):
    """Knows again what it said before, as the engine on this host does."""

    def known(self, question: Question) -> Decision | None:
        if question not in self.asked:
            return None
        allow = self.allows(question)
        return Decision(allow=allow, rule="yes" if allow else "no", reason="because")


@pytest.mark.parametrize("target", ["/v1/agents", "/v1/ports", "/v1/teams", "/v1/processes", "/v1/inbox"])
def test_rows_of_others_are_left_out(tmp_path: Path, target: str) -> None:
    async def act(scene: Scene) -> None:
        for query in ("agent=a", "agent=z&team=toys"):
            assert (await scene.exec(query, argv=["true"])).status == 200
        policy.allows = own
        reply = await scene.ask("GET", target)
        assert reply.status == 200, reply.body
        assert b"toys" not in reply.body
        assert (b"shop" in reply.body) is (target not in ("/v1/inbox", "/v1/ports"))

    policy = Scripted(lambda _: True)
    decided(tmp_path, policy, act)


def test_a_stream_of_events_has_only_those_that_may_be_seen(tmp_path: Path) -> None:
    facts = People()

    async def act(scene: Scene) -> None:
        async def happens(event: str, team: str, agent: str = "") -> None:
            await scene.registry.observe((), [NewEvent(event=event, team=team, agent=agent)])

        await happens("agent.one", "shop", "a")
        await happens("agent.two", "toys", "z")
        async with aclosing(scene.stream("/v1/events?follow=1&event=agent.*")) as stream:
            assert (await anext(stream))["event"] == "agent.one"
            await happens("agent.three", "toys", "z")
            await happens("agent.four", "shop", "b")
            assert (await anext(stream))["event"] == "agent.four"
            # What somebody may see can change while they look on.
            facts.owners["shop"] = "ann"
            await happens("agent.five", "shop", "a")
            facts.owners["toys"] = ME
            await happens("agent.six", "toys", "z")
            assert (await anext(stream))["event"] == "agent.six"

    decided(tmp_path, Scripted(own), act, facts)


def test_the_last_events_are_the_last_of_those_that_may_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of others came between, and without all of those being read."""

    async def act(scene: Scene) -> None:
        async def happen(team: str, agent: str, *names: str) -> None:
            await scene.registry.observe((), [NewEvent(event=name, team=team, agent=agent) for name in names])

        async def last(query: str) -> list[str]:
            return [event["event"] async for event in scene.stream(f"/v1/events?event=x.*&{query}") if "event" in event]

        await happen("shop", "a", "x.one", "x.two", "x.three")
        await happen("toys", "z", *(f"x.loud{number}" for number in range(8000)))
        await happen("shop", "", "x.four")
        await happen("toys", "z", "x.last")
        read: list[int] = []
        events = scene.store.events

        async def counted(**query: Any) -> list[Event]:
            found = await events(**query)
            read.append(len(found))
            return found

        monkeypatch.setattr(scene.store, "events", counted)
        assert await last("lines=3") == ["x.two", "x.three", "x.four"]
        assert sum(read) < 4000
        assert await last("lines=1&team=shop&agent=a") == ["x.three"]
        assert await last("lines=50") == ["x.one", "x.two", "x.three", "x.four"]
        async with aclosing(scene.stream("/v1/events?lines=2&follow=1&event=x.*")) as stream:
            assert [(await anext(stream))["event"] for _ in range(2)] == ["x.three", "x.four"]
            await happen("toys", "z", "x.not seen")
            await happen("shop", "a", "x.five")
            assert (await anext(stream))["event"] == "x.five"

    decided(tmp_path, Scripted(own), act)


def test_output_of_a_team_is_of_those_that_may_be_read(tmp_path: Path) -> None:
    """Without a name, those that may be; with one, it is denied."""
    policy = Scripted(lambda question: question.verb == "list_agents" or question.on.agent == "b")

    async def act(scene: Scene) -> None:
        assert (await scene.ask("GET", "/v1/logs?team=shop&agent=a")).status == 403
        assert (await scene.ask("GET", "/v1/logs?team=shop&agent=a&agent=b")).status == 403
        assert (await scene.ask("GET", "/v1/logs?team=toys")).status == 403

    notes = decided(tmp_path, policy, act)
    assert [(note.on.team, note.on.agent) for note in notes] == [("shop", "a"), ("shop", "a"), ("toys", "z")]


def test_what_is_remembered_is_asked_again_when_a_fact_changes(tmp_path: Path) -> None:
    facts, policy = Settled(), ByHeart(own)

    async def act(scene: Scene) -> None:
        for _ in range(3):
            assert (await scene.ask("GET", "/v1/screen?agent=a")).status != 403
            assert {one["team"] for one in (await scene.ask("GET", "/v1/agents")).json} == {"shop"}
        count = len(policy.asked)
        assert (await scene.ask("GET", "/v1/agents")).status == 200
        assert len(policy.asked) == count
        facts.owners["shop"], facts.owners["toys"] = "ann", ME
        facts.stamps += 1
        assert (await scene.ask("GET", "/v1/screen?agent=a")).status == 404
        assert {one["team"] for one in (await scene.ask("GET", "/v1/agents")).json} == {"toys"}

    decided(tmp_path, policy, act, facts)


def test_the_registry_says_when_names_may_mean_something_else(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        registry = scene.registry
        agent, before = registry.agent("shop", "a"), registry.version
        await registry.observe([replace(agent, pid=8)], [])
        assert registry.version == before
        await registry.observe([replace(agent, user="ben")], [])
        assert registry.version > before
        before = registry.version
        await registry.commit(PERSON, drop_agents=[("shop", "a")])
        assert registry.version > before

    decided(tmp_path, Scripted(own), act)


def test_people_read_in_the_trail_what_they_and_their_agents_did(tmp_path: Path) -> None:
    facts = People()

    async def act(scene: Scene) -> None:
        await scene.ask("GET", "/v1/screen?agent=a")
        await scene.ask("GET", "/v1/screen?agent=z", agent="toys/z")
        await scene.ask("GET", "/v1/screen?agent=a", agent="shop/a")
        reply = await scene.ask("GET", "/v1/audit")
        assert reply.status == 200, reply.body
        lines = [line for line in reply.body.split(b"\n") if line.startswith(b"{")]
        seen = [(b'"agent":"toys/z"' in line, b'"agent":"shop/a"' in line) for line in lines]
        assert (True, False) not in seen
        assert (False, True) in seen
        # The trail's own entries are nobody's.
        assert all(b'"audit.' not in line for line in lines)

    decided(tmp_path, Scripted(lambda question: question.verb == "screen" or own(question)), act, facts)


def test_a_trail_that_is_read_waits_for_the_policy_and_not_the_policy_for_it(tmp_path: Path) -> None:
    """The thread that reads asks the event loop, which goes on meanwhile."""
    policy = Scripted(own)

    async def act(scene: Scene) -> None:
        reading = [scene.ask("GET", "/v1/audit") for _ in range(8)]
        replies = await asyncio.gather(*reading, scene.ask("GET", "/v1/agents"))
        assert [reply.status for reply in replies] == [200] * 9

    decided(tmp_path, policy, act)


def test_a_stream_ends_for_who_may_not_hear_it_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "STILL_SECONDS", 0.0)
    facts = People()

    async def act(scene: Scene) -> None:
        async def put(value: str) -> None:
            await scene.services.kv.transact(
                PERSON, scene.registry.teams["shop"], Transaction(puts={"k": value.encode()})
            )

        async with aclosing(scene.stream("/v1/kv/watch?team=shop&after=0")) as stream:
            await put("one")
            assert (await anext(stream))["changes"][0]["value"] == "one"
            facts.owners["shop"] = "ann"
            await put("two")
            assert (await anext(stream))["error"]["code"] == "denied"
            with pytest.raises(StopAsyncIteration):
                await anext(stream)

    decided(tmp_path, Scripted(own), act, facts)
