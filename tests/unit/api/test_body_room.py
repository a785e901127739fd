"""A user has only so much of what they send in memory at once; others notice nothing."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from corral.api import requests
from corral.api.body_room import BodyRoom
from corral.domain.errors import RefusedError
from corral.domain.records import Who


class Sender:
    """One request, whose body comes piece by piece as the test says."""

    def __init__(self, room: BodyRoom, uid: int) -> None:
        self._pieces: asyncio.Queue[Message] = asyncio.Queue()
        self._wants_more = asyncio.Event()
        scope: Scope = {"type": "http", "headers": [], "state": {requests.CALLER: Who(user=f"u{uid}", uid=uid)}}
        self.served = asyncio.ensure_future(room(scope, self._receive, nobody_hears))

    async def sends(self, piece: bytes, *, last: bool = False) -> None:
        """Return when the piece was taken, and another one is waited for or the request is over."""
        self._wants_more.clear()
        self._pieces.put_nowait({"type": "http.request", "body": piece, "more_body": not last})
        asking = asyncio.ensure_future(self._wants_more.wait())
        await asyncio.wait({asking, self.served}, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()

    async def _receive(self) -> Message:
        if self._pieces.empty():
            self._wants_more.set()
        return await self._pieces.get()

    def leaves(self) -> None:
        self._pieces.put_nowait({"type": "http.disconnect"})


async def nobody_hears(_: Message) -> None:
    """There is no answer."""


async def reads(scope: Scope, receive: Receive, send: Send) -> None:
    await requests.raw_body(Request(scope, receive, send))


def test_a_user_has_only_so_much_in_memory_and_others_their_own() -> None:
    async def act() -> None:
        room = BodyRoom(reads, most=10)
        one, two, other = Sender(room, 1), Sender(room, 1), Sender(room, 2)
        await one.sends(b"x" * 6)
        await two.sends(b"x" * 4)
        await other.sends(b"x" * 10)
        await two.sends(b"x")
        with pytest.raises(RefusedError, match="user 1 sends has 10 bytes in memory") as refused:
            await two.served
        assert "send it again" in refused.value.remedy
        assert room.held == {1: 6, 2: 10}
        await one.sends(b"x" * 4, last=True)
        await one.served
        other.leaves()
        with pytest.raises(ClientDisconnect):
            await other.served
        assert room.held == {}, "what was answered or left is let go of"

    asyncio.run(act())


def test_one_body_alone_is_held_to_its_own_limit_only() -> None:
    async def act() -> None:
        room = BodyRoom(reads, most=10)
        one = Sender(room, 1)
        await one.sends(b"x" * 20)
        await one.sends(b"x", last=True)
        await one.served

    asyncio.run(act())
