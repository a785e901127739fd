"""The routes of tasks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests, task_answers, task_bodies
from corral.api.process_routes import while_heard
from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.records import Agent, Team
from corral.domain.task_records import STATES
from corral.service.resolve import find_asking, find_team
from corral.service.tasks import Seen, Tasks, Wanted, is_claimed_by
from corral.supervise.registry import Registry

_LISTED, _MOST_LISTED = 1000, 60_000


class TaskApi:
    """One method a route."""

    def __init__(self, registry: Registry, tasks: Tasks, *, decides: bool = False) -> None:
        """`decides`: who asks is proved, so that an agent can be kept from what another has claimed."""
        self._registry = registry
        self._tasks = tasks
        self._decides = decides

    async def add_task(self, request: Request) -> Response:
        new = (await requests.body(request, task_bodies.NewTaskBody)).task()
        task, is_new = await self._tasks.add(requests.caller(request), self._team(request), new)
        return answers.json_noting(task_answers.Added(task=task, added=is_new), task=task, added=is_new)

    async def list_tasks(self, request: Request) -> Response:
        limit = requests.whole_number(request, "limit")
        most = _LISTED if limit is None else min(limit, _MOST_LISTED)
        team, agent = self._claimer(request)
        who = requests.caller(request)
        is_asked_for = _question(request, f"{agent.team}/{agent.name}" if agent is not None else who.agent or who.user)
        found = [seen for seen in self._tasks.list(team) if is_asked_for(seen)]
        listed = [task_answers.task(seen) for seen in islice(found, most)]
        return answers.json(task_answers.Tasks(tasks=listed, more=len(found) - len(listed)))

    async def claim_task(self, request: Request) -> Response:
        order = await requests.body(request, task_bodies.ClaimBody)
        team, agent = self._claimer(request)
        wanted = Wanted(agent=agent, labels=order.labels, ttl=order.ttl, wait=order.wait)
        work = self._tasks.claim(requests.caller(request), team, wanted)
        claimed = task_answers.claimed(await while_heard(request, work))
        return answers.json_noting(claimed, task=claimed.task, attempt=claimed.attempt)

    async def show_task(self, request: Request) -> Response:
        return answers.json(task_answers.whole(self._tasks.show(self._team(request), _task(request))))

    async def remove_task(self, request: Request) -> Response:
        team, who, force = self._team(request), requests.caller(request), requests.flag(request, "force")
        self._must_not_be_anothers(request, team)
        task = await self._tasks.remove(who, team, _task(request), force=force)
        return answers.json(task_answers.Removed(task=task, removed=True))

    async def renew_task(self, request: Request) -> Response:
        order = await requests.body(request, task_bodies.RenewBody)
        team, who = self._team(request), requests.caller(request)
        self._must_not_be_anothers(request, team)
        seen = await self._tasks.renew(who, team, _task(request), order.token, note=order.note)
        return answers.json(task_answers.whole(seen))

    async def finish_task(self, request: Request) -> Response:
        order = await requests.body(request, task_bodies.DoneBody)
        team, who = self._team(request), requests.caller(request)
        self._must_not_be_anothers(request, team)
        seen = await self._tasks.done(who, team, _task(request), order.token, result=order.result, note=order.note)
        return answers.json(task_answers.whole(seen))

    async def fail_task(self, request: Request) -> Response:
        order = await requests.body(request, task_bodies.FailBody)
        team, who = self._team(request), requests.caller(request)
        self._must_not_be_anothers(request, team)
        seen = await self._tasks.fail(who, team, _task(request), order.token, note=order.note, final=order.final)
        return answers.json(task_answers.whole(seen))

    async def release_task(self, request: Request) -> Response:
        order = await requests.body(request, task_bodies.ReleaseBody)
        team, who = self._team(request), requests.caller(request)
        self._must_not_be_anothers(request, team)
        seen = await self._tasks.release(who, team, _task(request), order.token, note=order.note)
        return answers.json(task_answers.whole(seen))

    def _must_not_be_anothers(self, request: Request, team: Team) -> None:
        """Refuse an agent what another has claimed: a token tells claims apart, and everybody in the team can read it.
        Nothing is waited for behind this before it is done.
        """
        agent = requests.caller(request).agent
        if not self._decides or not agent:
            return
        task = _task(request)
        claim = self._tasks.show(team, task).task.claim
        if claim is not None and claim.by != agent:
            raise RefusedError(
                f"{task} is claimed by {claim.by}, and {agent} is somebody else",
                f"ask {claim.by}, or whoever owns the team: people may end claims of agents",
                task=task,
                holder=claim.by,
            )

    def _team(self, request: Request) -> Team:
        return find_team(self._registry, name=requests.text(request, "team"), **requests.whereabouts(request))

    def _claimer(self, request: Request) -> tuple[Team, Agent | None]:
        """The team whose task it is to be, and the agent that wants it, if it is one."""
        team, agent = (requests.text(request, name) for name in ("team", "agent"))
        return find_asking(self._registry, team=team, agent=agent, **requests.whereabouts(request))


def _task(request: Request) -> str:
    task: str = request.path_params["task"]
    return task


def _question(request: Request, mine: str) -> Callable[[Seen], bool]:
    """Which tasks a list is asked for, by whom."""
    states = requests.texts(request, "state")
    for state in states:
        if state not in STATES:
            raise WrongUseError(f"state={state}: one of {', '.join(STATES)} is wanted")
    label, by = requests.text(request, "label"), requests.text(request, "by")
    if requests.flag(request, "mine"):
        by = mine

    def is_asked_for(seen: Seen) -> bool:
        return (
            (not states or seen.state in states)
            and (not label or label in seen.task.labels)
            and (not by or is_claimed_by(seen, by))
        )

    return is_asked_for
