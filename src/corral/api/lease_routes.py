"""The routes of leases and locks."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, lease_answers, lease_bodies, requests
from corral.api.process_routes import while_heard
from corral.domain.errors import WrongUseError
from corral.domain.leases import EXCLUSIVE, SHARED, Claim, Party
from corral.domain.path_patterns import Pattern, parse, plain
from corral.domain.records import Agent, Team
from corral.domain.spec_model import SHARED as SHARED_CHECKOUT
from corral.domain.spec_model import WORKTREE
from corral.service.leases import LeaseService
from corral.service.real_patterns import RealPatterns
from corral.service.resolve import find_asking
from corral.supervise.registry import Registry

#: Of an agent: how long it stays after its run has ended without a word. Of a person: how long without being renewed.
AGENT_TTL, PERSON_TTL, LOCK_TTL = 60.0, 600.0, 30.0
_MOST_PATTERNS = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class LeaseApi:
    """One method a route."""

    def __init__(self, registry: Registry, leases: LeaseService, real: RealPatterns) -> None:
        self._registry = registry
        self._leases = leases
        self._real = real

    async def acquire_lease(self, request: Request) -> Response:
        order = await requests.body(request, lease_bodies.AcquireBody)
        work = self._leases.acquire(requests.caller(request), await self._claim(request, order), order.wait)
        return answers.json(lease_answers.lease(await while_heard(request, work)))

    async def wait_for_leases(self, request: Request) -> Response:
        order = await requests.body(request, lease_bodies.AcquireBody)
        claim = await self._claim(request, order)
        await while_heard(request, self._leases.until_free(claim, order.wait))
        return answers.json(lease_answers.Checked(free=True, paths=order.patterns))

    async def check_leases(self, request: Request) -> Response:
        team, agent = self._asking(request)
        paths = request.query_params.getlist("path")
        patterns = await self._real.of(_directory(team, agent), _patterns(paths, literal=True))
        self._leases.check(
            Claim(realm=_realm(team), patterns=patterns, mode=EXCLUSIVE, party=_party(request, agent), ttl=1.0)
        )
        return answers.json(lease_answers.Checked(free=True, paths=paths))

    async def list_leases(self, request: Request) -> Response:
        return self._listed(_realm(self._asking(request)[0]))

    async def list_locks(self, request: Request) -> Response:
        return self._listed(_locks(self._asking(request)[0]))

    def _listed(self, realm: str) -> Response:
        found = [lease_answers.lease(held) for held in self._leases.held() if held.lease.claim.realm == realm]
        return answers.json(lease_answers.Leases(leases=found))

    async def renew_lease(self, request: Request) -> Response:
        token = (await requests.body(request, lease_bodies.TokenBody)).token
        party = self._party_of(request)
        return answers.json(lease_answers.lease(await self._leases.renew(_lease(request), party, token)))

    async def release_lease(self, request: Request) -> Response:
        token = (await requests.body(request, lease_bodies.TokenBody)).token
        who, party = requests.caller(request), self._party_of(request)
        return answers.json(lease_answers.lease(await self._leases.release(who, _lease(request), party, token)))

    async def take_lock(self, request: Request) -> Response:
        order = await requests.body(request, lease_bodies.LockBody)
        if not _NAME.fullmatch(order.name):
            raise WrongUseError(
                f"{order.name[:100]!r} cannot be the name of a lock", "letters, digits, . _ and -, at most 100"
            )
        team, agent = self._asking(request)
        claim = Claim(
            realm=_locks(team),
            patterns=(plain(order.name),),
            mode=EXCLUSIVE,
            # Held by a command, and not by the run of the agent that it is of: it goes when nobody renews it.
            party=Party(_party(request, agent).name),
            ttl=order.ttl or LOCK_TTL,
        )
        work = self._leases.acquire(requests.caller(request), claim, order.wait)
        return answers.json(lease_answers.lease(await while_heard(request, work)))

    async def _claim(self, request: Request, order: lease_bodies.AcquireBody) -> Claim:
        team, agent = self._asking(request)
        party = _party(request, agent)
        return Claim(
            realm=_realm(team),
            patterns=await self._real.of(_directory(team, agent), _patterns(order.patterns, literal=order.literal)),
            mode=SHARED if order.shared else EXCLUSIVE,
            party=party,
            ttl=order.ttl or (AGENT_TTL if party.run else PERSON_TTL),
        )

    def _asking(self, request: Request) -> tuple[Team, Agent | None]:
        """The team that it is about, and the agent that asks, if it is one."""
        team, agent, cwd = (requests.text(request, name) for name in ("team", "agent", "cwd"))
        return find_asking(self._registry, team=team, agent=agent, cwd=cwd)

    def _party_of(self, request: Request) -> str:
        return _party(request, self._asking(request)[1]).name


def _party(request: Request, agent: Agent | None) -> Party:
    if agent is None:
        return Party(requests.caller(request).user)
    return Party("/".join(agent.key), agent.run)


def _realm(team: Team) -> str:
    """Where its patterns mean the same files: teams of one repository share them."""
    return team.repo or team.directory


def _directory(team: Team, agent: Agent | None) -> str:
    """Where the files are that whoever asks means."""
    if agent is not None and agent.workspace_kind in (WORKTREE, SHARED_CHECKOUT):
        return agent.workspace
    return team.repo or team.directory


def _locks(team: Team) -> str:
    return f"locks of {team.name}"


def _patterns(texts: list[str], *, literal: bool) -> tuple[Pattern, ...]:
    if not texts:
        raise WrongUseError("which files?", "give at least one pattern, such as src/")
    if len(texts) > _MOST_PATTERNS:
        raise WrongUseError(f"that are {len(texts)} patterns", f"at most {_MOST_PATTERNS} are possible at once")
    return tuple(plain(text) if literal else parse(text) for text in texts)


def _lease(request: Request) -> str:
    lease: str = request.path_params["lease"]
    return lease
