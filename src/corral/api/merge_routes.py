"""The routes of the merge queue."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, merge_answers, merge_bodies, requests
from corral.api.process_routes import while_heard
from corral.domain.errors import NotFoundError
from corral.domain.records import Team
from corral.service.merges import Merges
from corral.service.resolve import find_asking, find_team
from corral.supervise.registry import Registry


class MergeApi:
    """One method a route."""

    def __init__(self, registry: Registry, merges: Merges) -> None:
        self._registry = registry
        self._merges = merges

    async def submit_merge(self, request: Request) -> Response:
        order = await requests.body(request, merge_bodies.SubmitBody)
        name, agent, cwd = (requests.text(request, key) for key in ("team", "agent", "cwd"))
        team, submitter = find_asking(self._registry, team=name, agent=agent, **requests.whereabouts(request))
        who, trace = requests.caller(request), requests.trace(request)
        found = await self._merges.submit(
            who, team, submitter, branch=order.branch, cwd=cwd, tokens=order.tokens, trace=trace
        )
        merge = found.merge
        if merge is not None and order.wait:
            merge = await while_heard(request, self._merges.show(team.name, merge.name, wait=order.wait))
        answer = merge_answers.submitted(found, merge)
        return answers.json_noting(answer, merge=answer.merge, branch=answer.branch, target=answer.target)

    async def list_merges(self, request: Request) -> Response:
        name = self._name(request)
        team = self._registry.teams.get(name)
        found = self._merges.all(name) if requests.flag(request, "all") else self._merges.waiting(name)
        listed = [merge_answers.merge(merge) for merge in found]
        target, note = (team.merge.target, self._merges.elsewhere(team)) if team is not None else ("", "")
        return answers.json(merge_answers.Merges(target=target, note=note, merges=listed))

    async def show_merge(self, request: Request) -> Response:
        wait, after = requests.number(request, "wait") or 0.0, requests.whole_number(request, "after")
        work = self._merges.show(self._name(request), _merge(request), wait=wait, after=after)
        return answers.json(merge_answers.whole(await while_heard(request, work)))

    async def cancel_merge(self, request: Request) -> Response:
        cancelled = await self._merges.cancel(requests.caller(request), self._name(request), _merge(request))
        return answers.json(merge_answers.whole(cancelled))

    async def retry_merge(self, request: Request) -> Response:
        order = await requests.body(request, merge_bodies.RetryBody)
        team, who = self._team(request), requests.caller(request)
        trace = requests.trace(request)
        retried = await self._merges.retry(who, team, _merge(request), tokens=order.tokens, trace=trace)
        return answers.json(merge_answers.whole(retried))

    def _name(self, request: Request) -> str:
        """The team that is meant: also one that is down, if merges of it wait."""
        name = requests.text(request, "team")
        try:
            return self._team(request).name
        except NotFoundError:
            waiting = self._merges.teams_that_wait()
            if name in waiting or (not name and len(waiting) == 1):
                return name or waiting[0]
            raise

    def _team(self, request: Request) -> Team:
        return find_team(self._registry, name=requests.text(request, "team"), **requests.whereabouts(request))


def _merge(request: Request) -> str:
    merge: str = request.path_params["merge"]
    return merge
