"""The route of coding agents' hooks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, hook_answers, requests
from corral.api.hook_bodies import RegisterHooksBody
from corral.domain.errors import NotFoundError
from corral.domain.hook_dialects import DIALECTS, dialect
from corral.domain.msg import name_of
from corral.service.agent_hooks import AgentHooks, Heard


class HookApi:
    """One method a route."""

    def __init__(self, hooks: AgentHooks) -> None:
        self._hooks = hooks

    async def hear_hook(self, request: Request) -> Response:
        spoken_by = dialect(request.path_params["program"])
        if spoken_by is None:
            raise NotFoundError(
                "there is no coding agent with such hooks", f"known are: {', '.join(known.name for known in DIALECTS)}"
            )
        heard = Heard(
            said=await requests.raw_body(request),
            **{name: requests.text(request, name) for name in ("event", "team", "agent", "run", "cwd")},
        )
        verdict = await self._hooks.hear(requests.caller(request), spoken_by, heard)
        spoken = spoken_by.speak(heard.event, verdict)
        if requests.header(request, b"accept") == hook_answers.COLUMNS:
            return hook_answers.columns(spoken, verdict.receipt)
        return hook_answers.answer(verdict, spoken)

    async def note_told(self, request: Request) -> Response:
        offer = await self._hooks.notices.told(requests.caller(request), requests.text(request, "receipt"))
        told = [name_of(number) for number in offer.numbers]
        return answers.json(hook_answers.Told(messages=told, sent=offer.words or None))

    async def register_hooks(self, request: Request) -> Response:
        order = await requests.body(request, RegisterHooksBody)
        program = request.path_params["program"]
        note = await self._hooks.register(requests.caller(request), program, order.directory, remove=order.remove)
        return answers.json(hook_answers.Registered(program=program, directory=order.directory, note=note))
