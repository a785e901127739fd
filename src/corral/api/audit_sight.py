"""Which entries of the audit trail somebody may read, where a policy says so: whose an entry is is who did it.

What a person did is theirs, and so is what their agents did. What was done to something of theirs by somebody else is
that person's; what Corral itself did to it is theirs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from starlette.requests import Request

from corral.api import requests
from corral.api.audit_routes import Sight
from corral.domain.audit import ITSELF, Entry
from corral.service.authority import Asking, Authority

_VERB = "read_audit"
#: How long an answer counts. Whoever follows the trail and may not any more sees no more of it after that.
_FRESH_SECONDS = 1.0
#: Without an answer by then it is not seen.
_SECONDS = 5.0


def asked_entries(authority: Authority) -> Sight:
    """Asks the policy about each who did something, on behalf of whoever reads."""

    def sight(request: Request) -> Callable[[Entry], bool]:
        return _Seen(Asking(authority, requests.caller(request))).sees

    return sight


class _Seen:
    """Called by the thread that reads the trail; the policy is asked by the event loop meanwhile."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._loop = asyncio.get_running_loop()
        self._answers: dict[tuple[str, int, str], bool] = {}
        self._since = 0.0

    def sees(self, entry: Entry) -> bool:
        now = time.monotonic()
        if now - self._since > _FRESH_SECONDS:
            self._answers.clear()
            self._since = now
        key = _whose(entry)
        if key not in self._answers:
            try:
                self._answers[key] = asyncio.run_coroutine_threadsafe(self._decide(*key), self._loop).result(_SECONDS)
            except TimeoutError:
                self._answers[key] = False
        return self._answers[key]

    async def _decide(self, user: str, uid: int, agent: str) -> bool:
        asking, authority = self._asking, self._asking.authority

        def look() -> bool:
            if agent:
                team, _, name = agent.partition("/")
                return asking.decision(_VERB, authority.target(team, name)).allow
            return asking.decision(_VERB, authority.person(user, uid)).allow

        return await asking.settled(look)


def _whose(entry: Entry) -> tuple[str, int, str]:
    """The user, by name and number, and the agent if it was one, that an entry belongs to."""
    who, on = entry.note.who, entry.note.on
    if who == ITSELF and on.team:
        return who.user, who.uid, f"{on.team}/{on.agent}"
    return who.user, who.uid, who.agent
