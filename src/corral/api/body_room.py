"""How much of what a user sends is in the memory of the daemon at once, until it is answered."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from corral.api import requests
from corral.domain.errors import RefusedError

#: Four of the largest bodies that there are, of one user. Nobody who means well has so much under way.
MOST_OF_ONE = 4 * requests.MAX_EXEC_BODY


class BodyRoom:
    """Counts bodies by user, for the requests of an application."""

    def __init__(self, app: ASGIApp, most: int = MOST_OF_ONE) -> None:
        self._app = app
        self.most = most
        #: Bytes, by uid; nobody who has none.
        self.held: dict[int, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. What was read of its body is let go of when it is answered."""
        weight = scope[requests.WEIGHT] = _Weight(self)
        try:
            await self._app(scope, receive, send)
        finally:
            weight.let_go()


class _Weight:
    """What one request has in memory."""

    def __init__(self, room: BodyRoom) -> None:
        self._room = room
        self._uid = -1
        self._bytes = 0

    def add(self, uid: int, size: int) -> None:
        """More of its body has come. RefusedError if it is too much, with all else that the user has under way."""
        room = self._room
        held = room.held.get(uid, 0)
        # One body alone has a limit of its own.
        if held + size > room.most and held > self._bytes:
            raise RefusedError(
                f"what user {uid} sends has {room.most} bytes in memory, and may have no more",
                "wait until some of it is answered, then send it again",
            )
        self._uid = uid
        self._bytes += size
        room.held[uid] = held + size

    def let_go(self) -> None:
        """Nothing of it is needed any more."""
        if self._bytes:
            left = self._room.held[self._uid] - self._bytes
            if left:
                self._room.held[self._uid] = left
            else:
                del self._room.held[self._uid]
