"""The routes of what is typed into agents."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests
from corral.api.process_routes import while_heard
from corral.api.send_answers import Broadcasted
from corral.domain.errors import WrongUseError
from corral.domain.sends import PASTED, SUBMITTED, WAY
from corral.service.broadcast import Broadcast
from corral.service.resolve import find_agent, find_team
from corral.service.sends import DEFAULT_WAIT, Sends, must_have_reached
from corral.supervise.registry import Registry


class SendApi:
    """One method a route. Whoever goes away stops waiting; what was put in line stays there."""

    def __init__(self, registry: Registry, sends: Sends) -> None:
        self._registry = registry
        self._sends = sends
        self._broadcast = Broadcast(registry, sends)

    async def send(self, request: Request) -> Response:
        team, cwd = requests.text(request, "team"), requests.text(request, "cwd")
        agent = find_agent(self._registry, team=team, agent=requests.text(request, "agent"), cwd=cwd)
        raw = await requests.raw_body(request)
        enter = requests.flag(request, "enter", default=True)
        state, seconds = _wait(request, SUBMITTED if enter else PASTED, DEFAULT_WAIT)
        if not enter and WAY.index(state) > WAY.index(PASTED):
            raise WrongUseError(f"without Enter a message is never {state}", "wait for pasted, or leave --no-enter out")
        force = requests.flag(request, "force", default=False)
        message = (await self._sends.send(requests.caller(request), agent, raw, enter=enter, force=force)).message
        send = await while_heard(request, self._sends.wait(message, state, seconds))
        sent = must_have_reached(self._sends.told(send), state, remedy=send.remedy)
        return answers.json_noting(sent, message=sent.message, state=sent.state)

    async def show_sent(self, request: Request) -> Response:
        message = str(request.path_params["message"])
        state, seconds = _wait(request, "", 0.0)
        if not state:
            return answers.json(self._sends.receipt(message))
        send = await while_heard(request, self._sends.wait(message, state, seconds))
        return answers.json(must_have_reached(self._sends.told(send), state, remedy=send.remedy))

    async def broadcast(self, request: Request) -> Response:
        team = find_team(self._registry, name=requests.text(request, "team"), **requests.whereabouts(request))
        raw = await requests.raw_body(request)
        state, seconds = _wait(request, SUBMITTED, DEFAULT_WAIT)
        role = requests.text(request, "role")
        who = requests.caller(request)
        work = self._broadcast(who, team, raw, role=role, enter=True, state=state, seconds=seconds)
        return answers.json_of_several(Broadcasted(team=team.name, receipts=await while_heard(request, work)))


def _wait(request: Request, state: str, seconds: float) -> tuple[str, float]:
    """Which state is waited for, and for how many seconds; with these if nothing is said."""
    wanted = requests.text(request, "wait") or state
    if wanted and wanted not in WAY:
        raise WrongUseError(f"wait={wanted}: there is no such state to wait for", f"one of {', '.join(WAY)}")
    given = requests.number(request, "timeout")
    if given is None and wanted:
        given = seconds or DEFAULT_WAIT
    return wanted, given or 0.0
