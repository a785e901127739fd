"""The routes of shared terminals: two streams on one connection, and what a moderator asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from corral.api import answers, requests, session_answers
from corral.api.lasting import Ending, Lasting
from corral.api.session_answers import Line, SteerBody
from corral.domain.errors import CorralError, DeniedError, WrongUseError
from corral.service.lists import teams_seen
from corral.service.resolve import find_agent, find_team
from corral.service.sessions import LEFT, Joined, Joining, Sessions
from corral.supervise.registry import Registry

#: A line of somebody who types. A paste comes in pieces of some kilobytes.
_LONGEST_LINE = 1 << 20
_COLUMNS, _ROWS = 80, 24
_encode = msgspec.json.Encoder().encode


class SessionApi:
    """One method a route."""

    def __init__(self, registry: Registry, sessions: Sessions) -> None:
        self._registry = registry
        self._sessions = sessions

    async def join_session(self, request: Request) -> Response:
        agent = find_agent(
            self._registry,
            team=requests.text(request, "team"),
            agent=requests.text(request, "agent"),
            cwd=requests.text(request, "cwd"),
        )
        joining = Joining(
            mode=requests.text(request, "mode"),
            columns=requests.whole_number(request, "columns") or _COLUMNS,
            rows=requests.whole_number(request, "rows") or _ROWS,
            term=requests.text(request, "term"),
        )
        joined, first = await self._sessions.join(requests.caller(request), requests.peer(request), agent, joining)
        return _TwoWay(joined, first, requests.still(request))

    async def list_sessions(self, request: Request) -> Response:
        team, agent = requests.text(request, "team"), requests.text(request, "agent")
        sight = requests.sight(request)
        if agent:
            found = find_agent(self._registry, team=team, agent=agent, cwd=requests.text(request, "cwd"))
            teams, agent = [found.team], found.name
        elif team:
            teams = [find_team(self._registry, name=team).name]
        else:
            teams = await teams_seen(sight, self._registry)
        asked = await self._sessions.listed(teams, agent, named=bool(team or agent))
        sessions = [session for those in asked.answers.values() for session in those]
        listed = await sight.rows(sessions, lambda session: (session.team, session.agent))
        return answers.json_of_some([session_answers.session(session) for session in listed], asked.unknown)

    async def steer_session(self, request: Request) -> Response:
        order = await requests.body(request, SteerBody)
        agent = find_agent(self._registry, team=order.team or "", agent=order.agent, cwd=order.cwd)
        session = await self._sessions.steer(
            requests.caller(request), requests.peer(request), agent, order.action, order.person
        )
        return answers.json(session_answers.session(session))


class _TwoWay(Lasting, Response):
    """Takes what is typed out of the request while the answer tells what is shown. Whoever disconnects has left.

    `still` is asked with what comes, from either side: who may not be there any more is shown and types nothing more.
    """

    def __init__(self, joined: Joined, first: bytes, still: Callable[[], Awaitable[None]]) -> None:
        super().__init__(media_type="application/x-ndjson")
        # Its length is not known.
        self.raw_headers = [header for header in self.raw_headers if header[0] != b"content-length"]
        self._joined = joined
        self._first = first
        self._still = still
        #: Set when it is worth saying whether keys are taken.
        self._told_refused = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as Starlette calls it
        hearing: asyncio.Task[None] | None = None

        async def say(line: Line) -> None:
            await send({"type": "http.response.body", "body": _encode(line) + b"\n", "more_body": True})

        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            hearing = asyncio.ensure_future(self._hear(receive, say_refused=lambda why: say(Line(refused=why))))
            await say(Line(joined=self._joined.order.id))
            over = await self._shown(say)
            await say(Line(over=over, broke=self._joined.broke))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if hearing is not None:
                hearing.cancel()
            self.over(Ending(how=self._joined.why or LEFT))
            await self._joined.leave()

    async def _shown(self, say: Callable[[Line], Awaitable[None]]) -> str:
        """Say what is shown, until it is over: why it is."""
        try:
            async for data in self._joined.output(self._first):
                await self._still()
                await say(Line(output=data))
        except DeniedError as error:
            self.over(Ending(error=error))
            self._joined.left = error.message
            return error.message
        return self._joined.why

    async def _hear(self, receive: Receive, say_refused: Callable[[str], Awaitable[None]]) -> None:
        """Do what comes in says, until the connection is closed. An end of the body only means that no keys come."""
        try:
            async for line in _lines(receive):
                said = _read(line)
                if said.leave:
                    await self._joined.leave(LEFT)
                    return
                await self._still()
                if said.columns and said.rows:
                    await self._joined.resize(said.columns, said.rows)
                if said.keys:
                    await self._joined.type(said.keys)
                    if self._joined.refused != self._told_refused:
                        self._told_refused = self._joined.refused
                        await say_refused(self._told_refused)
        except CorralError as error:
            self.over(Ending(error=error))
            self._joined.why = self._joined.left = self.worded(error).message
        await self._joined.leave()


async def _lines(receive: Receive) -> AsyncIterator[bytes]:
    """The lines of a request as they come, until whoever sends them disconnects."""
    pending = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        *whole, pending = (pending + message.get("body", b"")).split(b"\n")
        for line in whole:
            if line:
                yield line
        if len(pending) > _LONGEST_LINE:
            raise WrongUseError(f"a line has more than {_LONGEST_LINE} bytes", "send keys in smaller pieces")


def _read(line: bytes) -> session_answers.Said:
    try:
        return session_answers.said(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WrongUseError(f"a line of the request does not fit: {error}", "see docs/reference/api.md") from error
