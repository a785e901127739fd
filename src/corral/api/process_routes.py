"""The routes of processes: run a command, see what it does, steer it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from corral.api import answers, process_answers, requests
from corral.api.process_bodies import ExecBody
from corral.domain.errors import DeniedError, WrongUseError
from corral.domain.line_patterns import Pattern
from corral.domain.process_output import BASE64
from corral.domain.signal_names import name_of, number_of
from corral.service.lists import teams_seen
from corral.service.process_orders import DEFAULT_LIMIT, MOST_INPUT
from corral.service.process_reading import Place, Question
from corral.service.processes import Processes
from corral.service.resolve import find_agent
from corral.service.sight import CONTENTS_OF_PROCESS
from corral.supervise.registry import Registry
from corral.supervise.supervisor import DEFAULT_GRACE

_T = TypeVar("_T")


class ProcessApi:
    """One method a route."""

    def __init__(self, registry: Registry, processes: Processes) -> None:
        self._registry = registry
        self._processes = processes

    async def execute(self, request: Request) -> Response:
        order = await requests.body(request, ExecBody, requests.MAX_EXEC_BODY)
        team, agent, cwd = _whose(request)
        if not agent:
            raise WrongUseError("which agent?", "name it: agent=AGENT, and team=TEAM if it is in several")
        found = find_agent(self._registry, team=team, agent=agent, cwd=cwd)
        again = partial(requests.again, request)
        work = self._processes.execute(requests.caller(request), found, order.wanted(), again)
        answer = process_answers.execution(await while_heard(request, work))
        return answers.json_noting(answer, **process_answers.noted(answer))

    async def list_processes(self, request: Request) -> Response:
        team, agent, cwd = _whose(request)
        sight = requests.sight(request)
        teams = None if team or agent else await teams_seen(sight, self._registry)
        asked = await self._processes.list(team=team, agent=agent, cwd=cwd, teams=teams)
        found = [(name, process) for name, processes in asked.answers.items() for process in processes]
        listed = await sight.rows(found, lambda one: (one[0], one[1].agent))
        opened = await sight.opened(CONTENTS_OF_PROCESS, ((team, process.agent) for team, process in listed))
        return answers.json_of_some(
            [
                process_answers.process(team, process, hidden=(team, process.agent) not in opened)
                for team, process in listed
            ],
            asked.unknown,
        )

    async def show_process(self, request: Request) -> Response:
        place = await self._place(request)
        found = await self._processes.get(place)
        return answers.json(process_answers.process(place.team, found, hidden=await _is_hidden(request, place)))

    async def read_output(self, request: Request) -> Response:
        place = await self._place(request)
        question = _question(request)
        if requests.flag(request, "follow"):
            await self._processes.get(place)  # one that is not there is told by the status
            pages = self._processes.follow(place, question)
            return answers.lines(process_answers.output(reading) async for reading in pages)
        reading = await while_heard(request, self._processes.read(place, question))
        return answers.json(process_answers.output(reading))

    async def wait_for_process(self, request: Request) -> Response:
        place = await self._place(request)
        waiting = self._processes.wait(place, requests.number(request, "wait"))
        found = await while_heard(request, waiting)
        return answers.json(process_answers.process(place.team, found, hidden=await _is_hidden(request, place)))

    async def write_to_process(self, request: Request) -> Response:
        data = await requests.raw_body(request, MOST_INPUT)
        place = await self._place(request)
        eof = requests.flag(request, "eof")
        await self._processes.write(requests.caller(request), place, data, eof=eof)
        return answers.json(process_answers.Written(process_id=place.process, bytes=len(data), eof=eof))

    async def signal_process(self, request: Request) -> Response:
        place = await self._place(request)
        number = number_of(requests.text(request, "signal"))
        reached = await self._processes.signal(requests.caller(request), place, number)
        return answers.json(
            process_answers.Signalled(process_id=place.process, signal=name_of(number), reached=reached)
        )

    async def kill_process(self, request: Request) -> Response:
        place = await self._place(request)
        grace = requests.number(request, "grace")
        ended = await self._processes.kill(requests.caller(request), place, DEFAULT_GRACE if grace is None else grace)
        return answers.json(process_answers.killed(place.team, ended, hidden=await _is_hidden(request, place)))

    async def resize_process(self, request: Request) -> Response:
        place = await self._place(request)
        columns = requests.whole_number(request, "columns")
        rows = requests.whole_number(request, "rows")
        if columns is None or rows is None:
            raise WrongUseError("which size?", "give columns and rows")
        await self._processes.resize(place, columns, rows)
        return answers.json(process_answers.Resized(process_id=place.process, columns=columns, rows=rows))

    async def remove_process(self, request: Request) -> Response:
        place = await self._place(request)
        await self._processes.remove(requests.caller(request), place)
        return answers.json(process_answers.Removed(process_id=place.process, removed=True))

    async def _place(self, request: Request) -> Place:
        team, agent, cwd = _whose(request)
        return await self._processes.find(request.path_params["process"], team=team, agent=agent, cwd=cwd)


def _whose(request: Request) -> tuple[str, str, str]:
    return requests.text(request, "team"), requests.text(request, "agent"), requests.text(request, "cwd")


async def _is_hidden(request: Request, place: Place) -> bool:
    """Whether who asks may know of the process, and not what it is."""
    whose = (place.team, place.agent)
    return whose not in await requests.sight(request).opened(CONTENTS_OF_PROCESS, (whose,))


def _question(request: Request) -> Question:
    until, keep = requests.text(request, "until"), requests.text(request, "filter")
    limit, wait = requests.whole_number(request, "limit"), requests.number(request, "wait")
    encoding = requests.text(request, "encoding")
    if encoding not in ("", BASE64):
        raise WrongUseError(f"encoding={encoding}: {BASE64} is wanted, or nothing")
    return Question(
        after=requests.whole_number(request, "after") or 0,
        limit=DEFAULT_LIMIT if limit is None else limit,
        wait=0.0 if wait is None else wait,
        until=Pattern(until, "until") if until else None,
        keep=Pattern(keep, "filter") if keep else None,
        encoding=encoding,
    )


async def while_heard(request: Request, work: Coroutine[Any, Any, _T], *, after: float = 0.0) -> _T:
    """What comes of `work`. It ends at once if the caller goes away: nobody is kept busy for nobody. It ends soon, with
    `DeniedError`, if the caller may not wait for it any more. Of what hardly ever waits that is heard `after` some
    seconds, because it costs more than the work itself.
    """
    doing = asyncio.current_task()
    assert doing is not None
    has_left = False
    denial: DeniedError | None = None
    still = requests.still(request)

    async def leave() -> None:
        nonlocal has_left
        while (await request.receive())["type"] != "http.disconnect":
            pass
        has_left = True
        doing.cancel()

    async def watch() -> None:
        nonlocal denial
        try:
            while True:
                await still()
                await asyncio.sleep(requests.STILL_SECONDS)
        except DeniedError as error:
            denial = error
            doing.cancel()

    beside: list[asyncio.Future[None]] = []

    def begin(what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        beside.append(asyncio.ensure_future(what()))

    if not after:
        begin(leave)
    # Most are over before that.
    later = asyncio.get_running_loop().call_later
    alarms = [later(requests.STILL_SECONDS, begin, watch), *([later(after, begin, leave)] if after else ())]
    try:
        found = await work
    except asyncio.CancelledError:
        if not has_left and denial is None:
            raise
        doing.uncancel()
        raise denial or ClientDisconnect from None
    finally:
        for one in (*alarms, *beside):
            one.cancel()
    if request.method == "GET":
        await still()  # what was done is told to who did it, and what is read only to who may
    return found
