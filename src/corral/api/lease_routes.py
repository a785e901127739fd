"""The routes of leases and locks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, lease_answers, lease_bodies, requests
from corral.api.process_routes import while_heard
from corral.domain.lease_model import Claim, no_lease
from corral.domain.traces import shown
from corral.service.lease_claims import Asking, LeaseClaims, locks_of, realm_of, whose_is
from corral.service.leases import LeaseService
from corral.service.resolve import find_asking
from corral.supervise.registry import Registry

#: What does not wait is mostly answered before that.
_SOON_SECONDS = 0.02


class LeaseApi:
    """One method a route."""

    def __init__(self, registry: Registry, leases: LeaseService, claims: LeaseClaims, *, decides: bool = False) -> None:
        """`decides`: requests are decided about, so that of a lease no more counts than what the team has."""
        self._registry = registry
        self._leases = leases
        self._claims = claims
        self._decides = decides

    async def acquire_lease(self, request: Request) -> Response:
        order = await requests.body(request, lease_bodies.AcquireBody)
        claim = await self._claim(request, order)
        # Also one who does not want to wait may have to, for the turn of much that is compared.
        work = self._leases.acquire(requests.caller(request), claim, order.wait)
        held = await while_heard(request, work, after=0.0 if order.wait else _SOON_SECONDS)
        return answers.json_noting(lease_answers.lease(held), lease=held.lease.lease)

    async def wait_for_leases(self, request: Request) -> Response:
        order = await requests.body(request, lease_bodies.AcquireBody)
        claim = await self._claim(request, order)
        await while_heard(request, self._leases.until_free(claim, order.wait))
        return answers.json(lease_answers.Checked(free=True, paths=order.patterns))

    async def check_leases(self, request: Request) -> Response:
        return await self._checked(request, requests.file_names(request, "path"))

    async def check_many_leases(self, request: Request) -> Response:
        return await self._checked(request, await requests.file_names_in_body(request))

    async def _checked(self, request: Request, paths: list[str]) -> Response:
        claim = await self._claims.paths(self._asking(request), paths)
        await while_heard(request, self._leases.check(claim), after=_SOON_SECONDS)
        return answers.json(lease_answers.Checked(free=True, paths=[shown(path) for path in paths]))

    async def list_leases(self, request: Request) -> Response:
        asking = self._asking(request)
        return await self._listed(request, asking, realm_of(asking.team))

    async def list_locks(self, request: Request) -> Response:
        asking = self._asking(request)
        return await self._listed(request, asking, locks_of(asking.team))

    async def _listed(self, request: Request, asking: Asking, realm: str) -> Response:
        there = [held for held in self._leases.held() if held.lease.claim.realm == realm]
        # Teams of one person share a repository: who may see one of them need not know of the others.
        found = await requests.sight(request).rows(
            there, lambda held: whose_is(held.lease.claim.party.name, asking.team, self._registry)
        )
        return answers.json(lease_answers.Leases(leases=[lease_answers.lease(held) for held in found]))

    async def renew_lease(self, request: Request) -> Response:
        token = (await requests.body(request, lease_bodies.TokenBody)).token
        lease, party = await self._named(request)
        return answers.json(lease_answers.lease(await self._leases.renew(lease, party, token)))

    async def release_lease(self, request: Request) -> Response:
        token = (await requests.body(request, lease_bodies.TokenBody)).token
        lease, party = await self._named(request)
        held = await self._leases.release(requests.caller(request), lease, party, token)
        return answers.json(lease_answers.lease(held))

    async def _named(self, request: Request) -> tuple[str, str]:
        """The lease that is in the path, and who asks.

        It was decided about the team: a lease that is not there is `NotFoundError`, and so is one of another team, and
        one of somebody whom the caller may not be told of.
        """
        asking = self._asking(request)
        lease: str = request.path_params["lease"]
        if self._decides:
            claim = self._leases.get(lease).claim
            if claim.realm not in (realm_of(asking.team), locks_of(asking.team)):
                raise no_lease(lease)
            if claim.party.name != asking.party.name and not await self._may_know(request, asking, claim):
                raise no_lease(lease)
        return lease, asking.party.name

    async def _may_know(self, request: Request, asking: Asking, claim: Claim) -> bool:
        """Whether who asks may be told who holds something."""
        whose = whose_is(claim.party.name, asking.team, self._registry)
        return whose in await requests.sight(request).opened("list_leases", (whose,))

    async def take_lock(self, request: Request) -> Response:
        order = await requests.body(request, lease_bodies.LockBody)
        claim = self._claims.lock(
            self._asking(request),
            order.name,
            ttl=order.ttl,
            while_agent_runs=order.while_agent_runs,
            within=order.within,
        )
        work = self._leases.acquire(requests.caller(request), claim, order.wait)
        held = await while_heard(request, work, after=0.0 if order.wait else _SOON_SECONDS)
        return answers.json_noting(lease_answers.lease(held), lease=held.lease.lease)

    async def _claim(self, request: Request, order: lease_bodies.AcquireBody) -> Claim:
        asking = self._asking(request)
        return await self._claims.files(
            asking, order.patterns, shared=order.shared, literal=order.literal, ttl=order.ttl
        )

    def _asking(self, request: Request) -> Asking:
        """The team that it is about, and who asks."""
        named, agent_name = (requests.text(request, name) for name in ("team", "agent"))
        team, agent = find_asking(self._registry, team=named, agent=agent_name, **requests.whereabouts(request))
        return Asking(team=team, agent=agent, user=requests.caller(request).user)
