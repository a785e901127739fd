"""The routes of members, and of asking the policy about somebody.

Few daemons have members: what only they need is loaded when it is asked for.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, member_answers, requests
from corral.api.member_table import MemberBody
from corral.domain.errors import RefusedError, WrongUseError

if TYPE_CHECKING:
    from corral.ports.policy import Policy
    from corral.service.member_facts import MemberFacts
    from corral.service.members import Members


#: Ends all connections of a user but one.
HangUp = Callable[[int, socket.socket | None], None]


class Shared(NamedTuple):
    """What the daemon of a shared server has besides."""

    members: Members
    facts: MemberFacts
    policy: Policy
    hang_up: HangUp


class MemberApi:
    """One method a route. An instance of one person has no members: `shared` is None, and all is refused."""

    def __init__(self, shared: Shared | None) -> None:
        self._there = shared

    async def member_ls(self, _: Request) -> Response:
        members = self._shared.members
        return answers.json([member_answers.member(members, one) for one in members.all()])

    async def member_show(self, request: Request) -> Response:
        members = self._shared.members
        return answers.json(member_answers.member(members, members.show(_user(request))))

    async def member_add(self, request: Request) -> Response:
        from corral.domain.members import Wanted

        members, order = self._shared.members, await requests.body(request, MemberBody)
        teams = None if order.teams is None else tuple(order.teams)
        wanted = Wanted(user=_user(request), role=order.role, teams=teams, of=order.of, inherits=order.inherit)
        again = partial(requests.again, request)
        done = await members.put(requests.caller(request), wanted, dry_run=order.dry_run, may_go_on=again)
        answer = member_answers.changed(members, done, dry_run=order.dry_run)
        return answers.json_noting(answer, **member_answers.noted(done))

    async def member_rm(self, request: Request) -> Response:
        members, dry_run = self._shared.members, requests.flag(request, "dry_run")
        done = await members.remove(
            requests.caller(request),
            _user(request),
            force=requests.flag(request, "force"),
            dry_run=dry_run,
            may_go_on=partial(requests.again, request),
        )
        told = member_answers.changed(members, done, dry_run=dry_run)
        answer = answers.json_noting(told, **member_answers.noted(done))
        if not dry_run:
            self._shared.hang_up(done.member.uid, None if requests.via(request) else requests.connection(request))
            # Whoever removes themselves is told so, and no more after that.
            answer.headers["connection"] = "close"
        return answer

    async def policy_check(self, request: Request) -> Response:
        from corral.service.policy_check import Asked, explain

        shared, who = self._shared, requests.caller(request)
        verb = requests.text(request, "verb")
        if not verb:
            raise WrongUseError("what is to be done?", "name a verb of the API, such as send, logs or attach")
        asked = Asked(
            verb=verb,
            who=requests.text(request, "who") or who.agent or who.user,
            on=requests.text(request, "on"),
            role=requests.text(request, "role"),
            owner=requests.text(request, "owner"),
            owner_role=requests.text(request, "owner_role"),
            teams=tuple(requests.texts(request, "in_team")),
            facts=dict(_pair(one) for one in requests.texts(request, "fact")),
        )
        told = await shared.facts.as_told(requests.sight(request), who.user)
        return answers.json((await explain(shared.policy, told, told.meant(asked))).as_json())

    @property
    def _shared(self) -> Shared:
        if self._there is None:
            raise RefusedError(
                "this is an instance of one person: there is nobody but you",
                "members are of a shared server, which sudo corral host setup makes",
            )
        return self._there


def _user(request: Request) -> str:
    user: str = request.path_params["user"]
    return user


def _pair(words: str) -> tuple[str, str]:
    key, sign, value = words.partition("=")
    if not key or not sign:
        raise WrongUseError(f"fact={words}: KEY=VALUE is wanted")
    return key, value
