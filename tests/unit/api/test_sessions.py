"""Whoever shares a terminal may do so as long as the policy says so, and leaves no seat behind, however they go."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from corral.api import requests
from corral.client.wire import Chunks
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.notices import Notice
from corral.ports.sessions import KeysTaken, SeatOrder, SessionOutput, SessionOver, SharedSession
from corral.service import authority
from corral.service.ledger import Ledger
from tests.unit.api.deciding import ME, People, Scripted, decided
from tests.unit.api.scene import Scene, play


class Seats:
    """The part of a keeper that has terminals."""

    def __init__(self, scene: Scene) -> None:
        self.typed: asyncio.Queue[bytes] = asyncio.Queue()
        self.shown: asyncio.Queue[bytes] = asyncio.Queue()
        self.seats: dict[str, asyncio.Event] = {}
        self.left = asyncio.Event()
        for name in ("session_attend", "session_read", "session_type", "session_leave"):
            setattr(scene.keeper, name, getattr(self, name))

    async def session_attend(self, team: str, run: str, seat: SeatOrder) -> SessionOver:
        left = self.seats[seat.id] = asyncio.Event()
        await left.wait()
        self.left.set()
        self.shown.put_nowait(b"")
        return SessionOver(why="left")

    async def session_read(self, team: str, run: str, seat: str) -> SessionOutput:
        return SessionOutput(data=await self.shown.get())

    async def session_type(self, team: str, run: str, seat: str, data: bytes) -> KeysTaken:
        self.typed.put_nowait(data)
        return KeysTaken(refused="")

    async def session_leave(self, team: str, run: str, seat: str) -> None:
        if seat in self.seats:
            self.seats[seat].set()


class Attached:
    """A person at a terminal."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._chunks, self._lines = Chunks(), b""

    def type(self, keys: bytes) -> None:
        self.say(b'{"keys":"%s"}\n' % keys)

    def say(self, line: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(line), line))

    async def told(self) -> Any:
        """The next line of the answer; None at its end."""
        while b"\n" not in self._lines:
            data = await self._reader.read(1 << 16)
            if not data:
                return None
            self._lines += self._chunks.feed(data)
        line, _, self._lines = self._lines.partition(b"\n")
        return json.loads(line)


@contextlib.asynccontextmanager
async def attached(scene: Scene) -> AsyncIterator[Attached]:
    reader, writer = await asyncio.open_unix_connection(scene.socket)
    head = "POST /v1/sessions?team=shop&agent=a&mode=observe HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    try:
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        yield Attached(reader, writer)
    finally:
        writer.close()


@pytest.mark.parametrize("by", ["typing", "watching"])
def test_who_may_not_be_there_any_more_types_and_sees_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(requests, "STILL_SECONDS", 0.0)
    monkeypatch.setattr(authority, "_FRESH_SECONDS", 0.0)
    people = People()

    async def act(scene: Scene) -> None:
        seats = Seats(scene)
        seats.shown.put_nowait(b"first")
        async with attached(scene) as there:
            assert "joined" in await there.told()
            assert "output" in await there.told()
            there.type(b"YQ==")
            assert await seats.typed.get() == b"a"
            people.roles[ME] = "nobody"
            if by == "typing":
                there.type(b"Yg==")
            else:
                seats.shown.put_nowait(b"secret")
            assert await there.told() == {"over": "not allowed"}
            await seats.left.wait()
            assert seats.typed.empty()

    notes = decided(tmp_path, Scripted(lambda question: question.who.role != "nobody"), act, people)
    begun, denied, ended = (note for note in notes if note.verb == "attach")
    assert (denied.allowed, denied.rule) == (False, "no")
    assert (begun.outcome, ended.outcome, ended.trace) == ("", "403", begun.trace)
    assert (begun.detail, denied.detail) == ({"mode": "observe"}, {"error": "denied", "mode": "observe"})


def test_a_rule_about_attach_is_asked_before_anybody_joins(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        seats = Seats(scene)
        reply = await scene.ask("POST", "/v1/sessions?team=shop&agent=a&mode=drive")
        assert reply.status == 403
        assert reply.json["error"]["remedy"].startswith("corral policy check attach shop/a --drive ")
        assert not seats.seats

    policy = Scripted(lambda question: question.verb != "attach")
    (denied,) = decided(tmp_path, policy, act)
    assert (denied.verb, denied.allowed, denied.outcome, denied.detail["mode"]) == ("attach", False, "403", "drive")
    assert [question.facts for question in policy.asked if question.verb == "attach"] == [{"mode": "drive"}]


def test_who_is_gone_before_it_is_written_down_leaves_no_seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise CorralError("the disk is full", "make room")

    async def act(scene: Scene) -> None:
        monkeypatch.setattr(Ledger, "write", fails)
        seats = Seats(scene)
        seats.shown.put_nowait(b"first")
        reply = await scene.ask("POST", "/v1/sessions?team=shop&agent=a&mode=observe")
        assert reply.status == 500
        await seats.left.wait()

    play(tmp_path, act)


def test_a_keeper_is_believed_about_the_terminals_of_its_own_team_alone(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        async def sessions(team: str) -> list[SharedSession]:
            told = [("shop", "a"), ("toys", "z"), ("shop", "nobody")] if team == "shop" else []
            return [SharedSession(team=name, agent=agent, run="abcdefabcdef") for name, agent in told]

        scene.keeper.sessions = sessions  # type: ignore[attr-defined]
        listed = (await scene.ask("GET", "/v1/sessions")).json
        assert [(one["team"], one["agent"]) for one in listed] == [("shop", "a")]

    play(tmp_path, act)


async def left(scene: Scene) -> dict[str, Any]:
    """What is journalled of the only one who left."""
    for _ in range(2000):
        reply = await scene.ask("GET", "/v1/events")
        told = [json.loads(line) for line in Chunks().feed(reply.body).splitlines()]
        if found := [event for event in told if event["event"] == "session.left"]:
            (event,) = found
            return dict(event["data"])
        await asyncio.sleep(0.01)
    raise AssertionError("nobody left")


@pytest.mark.parametrize(("says", "why"), [(b'{"leave":true}\n', "left"), (b"", "the connection was lost")])
def test_who_says_so_has_left_and_who_is_gone_without_a_word_was_lost(tmp_path: Path, says: bytes, why: str) -> None:
    async def act(scene: Scene) -> None:
        seats = Seats(scene)
        seats.shown.put_nowait(b"first")
        async with attached(scene) as there:
            assert "joined" in await there.told()
            if says:
                there.say(says)
                await seats.left.wait()
        assert (await left(scene))["why"] == why

    play(tmp_path, act)


def test_who_was_there_when_a_daemon_was_killed_has_left(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        seats = Seats(scene)
        seats.shown.put_nowait(b"first")
        async with attached(scene) as there:
            assert "joined" in await there.told()
            (kept,) = await scene.store.items("seat")
            # As the next daemon does, that has nothing but the store.
            await scene.services.sessions.begin()
            data = await left(scene)
            assert (data["why"], data["seat"]) == ("the daemon ended", kept.key)
            assert await scene.store.items("seat") == []

    play(tmp_path, act)


def test_a_keeper_that_is_gone_is_said_to_be_and_is_no_good_end(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        seats = Seats(scene)
        seats.shown.put_nowait(b"first")

        async def gone(team: str, run: str, seat: str) -> SessionOutput:
            if seats.shown.empty():
                raise UnavailableError("the keeper went away during a call", "try again")
            return SessionOutput(data=seats.shown.get_nowait())

        scene.keeper.session_read = gone  # type: ignore[attr-defined]
        async with attached(scene) as there:
            lines = [await there.told() for _ in range(3)]
        assert lines[-1] == {"over": "its keeper went away; the agent goes on, and can be joined again", "broke": True}

    play(tmp_path, act)


@pytest.mark.parametrize("own", [True, False])
def test_an_owner_is_told_of_others_wherever_they_look_and_not_of_themselves(tmp_path: Path, own: bool) -> None:
    async def act(scene: Scene) -> None:
        told: list[Notice] = []
        scene.services.sessions._tell = told.append
        scene.services.sessions._owns = lambda who, agent: own
        seats = Seats(scene)
        seats.shown.put_nowait(b"first")

        async def noticed() -> list[str]:
            (agent,) = [one for one in (await scene.ask("GET", "/v1/agents")).json if one["agent"] == "a"]
            return [notice for notice in agent["notices"] if "watches" in notice]

        async with attached(scene) as there:
            assert "joined" in await there.told()
            assert (len(await noticed()), len(told)) == ((0, 0) if own else (1, 1))
        await left(scene)
        assert await noticed() == []

    play(tmp_path, act)
