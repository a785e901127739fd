"""The routes of the daemon itself: how it is, its journal, and its end."""

from __future__ import annotations

import os

from starlette.requests import Request
from starlette.responses import Response

from corral import __version__
from corral.api import answers, requests, streams
from corral.api.daemon_bodies import FixesBody
from corral.api.services import Services
from corral.domain.records import NewEvent
from corral.domain.timestamps import timestamp
from corral.service.audit import Audit


class DaemonApi:
    """One method a route."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._registry = services.registry

    async def health(self, request: Request) -> Response:
        services, sight = self._services, requests.sight(request)
        teams = await sight.rows(list(self._registry.teams), lambda team: (team, ""))
        agents = await sight.rows(list(self._registry.agents), lambda key: key)
        keepers = services.supervisor.keepers
        listening = [] if services.network is None else services.network.addresses
        return answers.json(
            {
                "version": __version__,
                "pid": os.getpid(),
                "instance": services.instance,
                "home": services.places.home,
                "runtime": services.places.runtime,
                "started_at": timestamp(services.started_at),
                "teams": len(teams),
                "agents": len(agents),
                "keeper": keepers.presence,
                **({"listening": listening} if listening else {}),
                **({"keepers": keepers.presences_of(teams)} if keepers.shared else {}),
                **({"audit": _audit(services.audit)} if services.audit is not None else {}),
            }
        )

    async def openapi(self, _: Request) -> Response:
        # Asked for by few: the others need not wait for it to be loaded.
        from corral.api.openapi import document

        return Response(document(), media_type="application/json")

    async def stop_daemon(self, _: Request) -> Response:
        self._services.end()
        return answers.json({"stopped": True, "pid": os.getpid()})

    async def events(self, request: Request) -> Response:
        journal = self._services.journal
        team, agent = requests.text(request, "team"), requests.text(request, "agent")
        follow, sight = requests.flag(request, "follow"), requests.sight(request)
        if not follow:  # a follower may wait for one that is yet to come
            await journal.must_know(team=team, agent=agent)
        entries = journal.read(
            team=team,
            agent=agent,
            named=requests.event_patterns(request),
            after=requests.whole_number(request, "after"),
            since=requests.number(request, "since"),
            last=requests.whole_number(request, "lines"),
            follow=follow,
            sight=sight,
        )
        return answers.lines(streams.events(entries, sight))

    async def note_fixes(self, request: Request) -> Response:
        order = await requests.body(request, FixesBody)
        events = [
            NewEvent(
                event="doctor.fixed",
                team=fix.team,
                agent=fix.agent,
                outcome="ok" if fix.fixed else "failed",
                data={"check": fix.check, "subject": fix.subject, "message": fix.message},
            )
            for fix in order.fixes
        ]
        await self._services.journal.note(requests.caller(request), events)
        return answers.json({"noted": len(events)})


def _audit(audit: Audit) -> dict[str, object]:
    number, digest = audit.head
    return {"number": number, "hash": digest, **({"not_shipped": audit.not_shipped} if audit.not_shipped else {})}
