"""The route of the audit trail."""

from __future__ import annotations

import os
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests
from corral.domain.audit import Entry, as_object
from corral.domain.audit_filter import Wanted
from corral.domain.errors import NotFoundError, WrongUseError
from corral.domain.timestamps import timestamp
from corral.service.audit import Audit

#: Which entries may be seen by whoever sends a request.
Sight = Callable[[Request], Callable[[Entry], bool]]

_MOST_LINES = 100_000
_MOST_VERBS, _LONGEST_WORD = 20, 200


def own_entries(request: Request) -> Callable[[Entry], bool]:
    """The daemon's own user and root see everything; everybody else what they did themselves."""
    uid = requests.caller(request).uid
    if uid in (0, os.geteuid()):
        return lambda _: True
    return lambda entry: entry.note.who.uid == uid


class AuditApi:
    """One method a route. `sight` is where policy says who may see what."""

    def __init__(self, audit: Audit | None, sight: Sight = own_entries) -> None:
        self._audit = audit
        self._sight = sight

    async def read_audit(self, request: Request) -> Response:
        if self._audit is None:
            raise NotFoundError(
                "this instance keeps no audit trail", "enabled = true below [audit] in config.toml begins one"
            )
        last = requests.whole_number(request, "lines")
        entries = self._audit.read(
            _wanted(request),
            self._sight(request),
            last=None if last is None else min(last, _MOST_LINES),
            after=requests.whole_number(request, "after") or 0,
            follow=requests.flag(request, "follow"),
        )
        return answers.lines(as_object(entry) async for entry in entries)


def _wanted(request: Request) -> Wanted:
    verbs = requests.texts(request, "verb")
    words = {name: requests.text(request, name) for name in ("who", "agent", "trace")}
    if len(verbs) > _MOST_VERBS or any(len(word) > _LONGEST_WORD for word in (*verbs, *words.values())):
        raise WrongUseError("more is asked for at once than anybody needs", f"give {_MOST_VERBS} verbs at most")
    return Wanted(
        since=_time(request, "since"),
        until=_time(request, "until"),
        who=words["who"],
        agent=words["agent"],
        verbs=verbs,
        trace=words["trace"],
        denied=requests.flag(request, "denied"),
    )


def _time(request: Request, name: str) -> str:
    seconds = requests.number(request, name)
    if seconds is None:
        return ""
    try:
        return timestamp(seconds)
    except (ValueError, OverflowError, OSError):
        raise WrongUseError(f"{name}={seconds}: a time in unix seconds is wanted") from None
