"""The routes of the daemon: take a request apart, call a use case, put the answer together."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from corral import __version__
from corral.api import answers, requests, streams, team_answers
from corral.api.audit_routes import AuditApi, own_entries
from corral.api.audit_routes import Sight as EntrySight
from corral.api.auditing import Auditing
from corral.api.hook_routes import HookApi
from corral.api.identifying import Identifying
from corral.api.inbox_routes import InboxApi, whose
from corral.api.kv_routes import KvApi
from corral.api.lease_routes import LeaseApi
from corral.api.member_routes import MemberApi, Shared
from corral.api.merge_routes import MergeApi
from corral.api.msg_routes import MsgApi
from corral.api.openapi_table import ENDPOINTS
from corral.api.port_routes import PortApi
from corral.api.process_routes import ProcessApi
from corral.api.recording_routes import RecordingApi
from corral.api.router import Handler, Route, Router
from corral.api.send_routes import SendApi
from corral.api.session_routes import SessionApi
from corral.api.task_routes import TaskApi
from corral.api.token_routes import TokenApi
from corral.api.topic_routes import TopicApi
from corral.api.welcoming import Welcome
from corral.api.who_routes import WhoApi
from corral.api.write_routes import WriteApi
from corral.background import Background
from corral.domain.errors import CorralError, outline
from corral.domain.records import Agent, NewEvent
from corral.domain.timestamps import timestamp
from corral.places import Places
from corral.service.agent_hooks import AgentHooks
from corral.service.agents import Agents
from corral.service.attendance import AttendanceWatch
from corral.service.audit import Audit
from corral.service.callers import Callers
from corral.service.down import Down
from corral.service.fork import Fork
from corral.service.holding import Holding
from corral.service.inbox import InboxService
from corral.service.journal import Journal
from corral.service.kv import Kv
from corral.service.lease_claims import LeaseClaims
from corral.service.leases import LeaseService
from corral.service.merges import Merges
from corral.service.msg import Msg
from corral.service.port_blocks import PortBlocks
from corral.service.processes import Processes
from corral.service.progress import Tell
from corral.service.recordings import Recordings
from corral.service.resolve import find_agent, find_agents, find_team
from corral.service.sends import Sends
from corral.service.sessions import Sessions
from corral.service.sight import Sight
from corral.service.stats import Stats
from corral.service.tasks import Tasks
from corral.service.topics import Topics
from corral.service.up import Up
from corral.service.up_result import UpResult
from corral.service.who import Who
from corral.service.writes import WriteService
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor

if TYPE_CHECKING:
    from corral.service.authority import Authority
    from corral.service.far_callers import FarCallers
    from corral.service.tokens import Tokens

log = logging.getLogger("corral.daemon")


class Network(Protocol):
    """What a daemon has besides its socket."""

    #: None until they are read.
    tokens: Tokens | None
    #: Who tells who asks over TCP; None if nobody can.
    callers: FarCallers | None

    async def load(self) -> Tokens:
        """The tokens of the instance."""

    @property
    def addresses(self) -> list[str]:
        """Where it is reached over TCP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The use cases behind the routes."""

    places: Places
    instance: str
    started_at: float
    registry: Registry
    supervisor: Supervisor
    up: Up
    down: Down
    agents: Agents
    fork: Fork
    holding: Holding
    attendance: AttendanceWatch
    stats: Stats
    processes: Processes
    kv: Kv
    leases: LeaseService
    ports: PortBlocks
    msg: Msg
    topics: Topics
    tasks: Tasks
    recordings: Recordings
    sends: Sends
    sessions: Sessions
    merges: Merges
    who: Who
    hooks: AgentHooks
    inbox: InboxService
    journal: Journal
    #: Called to end the daemon.
    end: Callable[[], None]
    #: Called at the start (1) and the end (-1) of each request.
    busy: Callable[[int], None]
    #: Where every request is written down; None if this instance keeps no audit trail.
    audit: Audit | None = None
    #: Who tells whom it has before it; without it, agents are taken at their word.
    callers: Callers | None = None
    #: Members and policy of a shared server; None for an instance of one person.
    shared: Shared | None = None
    #: Who decides what callers may do; None if whoever can connect may do everything.
    authority: Authority | None = None
    #: Tokens, and what is reached over TCP; None in an application of a test that has none of it.
    network: Network | None = None


_own_entries: EntrySight = own_entries


def make_app(services: Services) -> Router:
    """The application. Every error leaves it as the error object of the contract."""
    auditing, network = Auditing(services.audit), services.network
    around, unrouted, sight = auditing.__call__, auditing.unrouted, _own_entries
    if services.authority is not None:
        # A daemon of one person does without.
        from corral.api.audit_sight import asked_entries
        from corral.api.guarding import authorising

        guard, sight = authorising(services, services.authority), asked_entries(services.authority)
        around, unrouted = guard.__call__, guard.unrouted
    rooms = (
        _Api(services),
        ProcessApi(services.registry, services.processes),
        KvApi(services.registry, services.kv),
        LeaseApi(services.registry, services.leases, LeaseClaims(services.supervisor)),
        PortApi(services.registry, services.ports),
        MsgApi(services.msg),
        TopicApi(services.registry, services.topics),
        TaskApi(services.registry, services.tasks),
        RecordingApi(services.registry, services.recordings),
        SendApi(services.registry, services.sends),
        SessionApi(services.registry, services.sessions),
        MergeApi(services.registry, services.merges),
        WhoApi(services.registry, services.who),
        HookApi(services.hooks),
        InboxApi(services.registry, services.inbox),
        WriteApi(services.registry, WriteService(services.leases)),
        AuditApi(services.audit, sight),
        MemberApi(services.shared),
        TokenApi(
            None if network is None else network.load, services.supervisor, decides=services.authority is not None
        ),
    )
    welcome = Welcome(services.registry, services.inbox, services.attendance)
    identifying = Identifying(services.callers, services.audit, None if network is None else network.callers)
    return Router(
        [
            Route(
                endpoint.method,
                endpoint.path,
                identifying(
                    endpoint.handler,
                    around(endpoint, welcome(endpoint.handler, _handler(rooms, endpoint.handler))),
                ),
            )
            for endpoint in ENDPOINTS
        ],
        _on_error,
        lambda handler: identifying.unrouted(unrouted(handler)),
    )


def _handler(rooms: Sequence[object], name: str) -> Handler:
    handler: Handler = next(getattr(room, name) for room in rooms if hasattr(room, name))
    return handler


def _on_error(request: Request, error: Exception) -> Response:
    if isinstance(error, CorralError):
        return answers.failure(error)
    if isinstance(error, ClientDisconnect):
        # The caller went away before it had said all. Nothing was begun, and nobody hears this.
        return Response(status_code=400)
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answers.failure(CorralError(f"the daemon failed: {outline(error)}", "its log has more"))


class _Api:
    """One method a route."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._registry = services.registry
        self._background = Background()

    async def health(self, _: Request) -> Response:
        services = self._services
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
                "teams": len(self._registry.teams),
                "agents": len(self._registry.agents),
                "keeper": keepers.presence,
                **({"listening": listening} if listening else {}),
                **({"keepers": keepers.presences} if keepers.shared else {}),
            }
        )

    async def list_teams(self, request: Request) -> Response:
        teams = await requests.sight(request).rows(self._registry.teams.values(), lambda team: (team.name, ""))
        return answers.json(team_answers.listed(teams))

    async def openapi(self, _: Request) -> Response:
        # Asked for by few: the others need not wait for it to be loaded.
        from corral.api.openapi import document

        return Response(document(), media_type="application/json")

    async def stop_daemon(self, _: Request) -> Response:
        self._services.end()
        return answers.json({"stopped": True, "pid": os.getpid()})

    async def list_agents(self, request: Request) -> Response:
        team = requests.text(request, "team")
        if requests.text(request, "agent"):
            chosen = [self._one_agent(request)]
        elif team:
            chosen = list(self._registry.of_team(find_team(self._registry, name=team).name).values())
        else:
            teams = sorted(self._registry.teams)
            chosen = [agent for name in teams for agent in self._registry.of_team(name).values()]
        sight = requests.sight(request)
        chosen = await sight.rows(chosen, lambda agent: agent.key)
        if requests.header(request, b"accept") == "text/tab-separated-values":
            table = answers.agent_table(self._registry, chosen)
            table.headers[answers.WAITING_HEADER] = str(await self._waiting(sight, team))
            return table
        return answers.json([answers.agent_object(self._registry, agent) for agent in chosen])

    async def _waiting(self, sight: Sight, team: str) -> int:
        """How many agents, or merges of people, wait for somebody, of those that the caller sees."""
        found = await sight.rows(self._services.inbox.unattended(team), whose)
        return len({(entry.cause.team, entry.cause.agent or entry.cause.key) for entry in found})

    async def up(self, request: Request) -> Response:
        order = await requests.body(request, requests.UpBody)
        who = requests.caller(request)

        async def do(tell: Tell) -> UpResult:
            result = await self._services.up(
                who,
                file=order.file,
                text=order.text,
                only=order.agents,
                restart_changed=order.restart_changed,
                dry_run=order.dry_run,
                wait=order.wait,
                environment=order.environment,
                tell=tell,
                may_go_on=lambda: requests.again(request),
            )
            if not order.dry_run:
                # Somebody is there, also if there was nothing to do.
                await self._services.attendance.welcome(who, result.team, "team.up")
            return result

        return self._work(do)

    async def down(self, request: Request) -> Response:
        order = await requests.body(request, requests.DownBody)
        who = requests.caller(request)
        team = self._services.down.find(name=order.team or "", file=order.file or "", cwd=order.cwd)
        return self._work(
            lambda tell: self._services.down(
                who, team, caller=requests.caller_pid(request), grace=order.grace, discard=order.discard, tell=tell
            )
        )

    async def stop(self, request: Request) -> Response:
        return await self._on_agents(request, self._services.agents.stop)

    async def restart(self, request: Request) -> Response:
        order = await requests.body(request, requests.RestartBody)
        return self._act(request, order, partial(self._services.agents.restart, fresh=order.fresh))

    async def fork(self, request: Request) -> Response:
        order = await requests.body(request, requests.ForkBody)
        who = requests.caller(request)
        source = find_agent(self._registry, team=order.team or "", agent=order.agent, cwd=order.cwd)
        return self._work(lambda tell: self._services.fork(who, source, order.name, order.prompt, tell=tell))

    async def remove(self, request: Request) -> Response:
        order = await requests.body(request, requests.RemoveBody)
        who, caller = requests.caller(request), requests.caller_pid(request)
        team, names = self._chosen(order)

        async def do(tell: Tell) -> object:
            outcomes = await self._services.agents.remove(
                who, team, names, caller=caller, grace=order.grace, discard=order.discard, force=order.force, tell=tell
            )
            return {"team": team, "agents": outcomes}

        return self._work(do)

    async def pause(self, request: Request) -> Response:
        return await self._hold(request, self._services.holding.pause)

    async def resume(self, request: Request) -> Response:
        return await self._hold(request, self._services.holding.resume)

    async def stats(self, request: Request) -> Response:
        team, wanted = requests.text(request, "team"), requests.texts(request, "agent")
        names: list[str] = []
        if wanted:
            chosen, names = find_agents(
                self._registry, team=team, agents=wanted, everyone=False, cwd=requests.text(request, "cwd")
            )
            team = chosen.name
        elif team:
            find_team(self._registry, name=team)
        looks = self._services.stats.read(team=team, names=names, every=requests.interval(request))
        return answers.lines(streams.stats(looks, requests.sight(request)))

    async def attach(self, request: Request) -> Response:
        agent = self._one_agent(request)
        argv = await self._services.agents.attach(
            requests.caller(request), requests.peer(request), agent, read_only=requests.flag(request, "read_only")
        )
        whose = {"team": agent.team, "agent": agent.name, "user": agent.user, "terminal": agent.terminal}
        return answers.json({**whose, "argv": argv})

    async def screen(self, request: Request) -> Response:
        agent = self._one_agent(request)
        shown = await self._services.agents.screen(agent)
        return answers.json({"team": agent.team, "agent": agent.name, "lines": shown.lines, "title": shown.title})

    async def logs(self, request: Request) -> Response:
        wanted = requests.texts(request, "agent")
        team, names = find_agents(
            self._registry,
            team=requests.text(request, "team"),
            agents=wanted,
            everyone=not wanted,
            cwd=requests.text(request, "cwd"),
        )
        return answers.lines(
            self._services.agents.logs(
                team.name,
                names,
                lines=requests.whole_number(request, "lines"),
                since=requests.number(request, "since"),
                follow=requests.flag(request, "follow"),
            )
        )

    async def events(self, request: Request) -> Response:
        journal = self._services.journal
        team, agent = requests.text(request, "team"), requests.text(request, "agent")
        follow = requests.flag(request, "follow")
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
        )
        return answers.lines(streams.events(entries, requests.sight(request)))

    async def note_fixes(self, request: Request) -> Response:
        order = await requests.body(request, requests.FixesBody)
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

    async def _on_agents(self, request: Request, use_case: Callable[..., Awaitable[object]]) -> Response:
        return self._act(request, await requests.body(request, requests.AgentsBody), use_case)

    def _act(
        self, request: Request, order: requests.AgentsBody, use_case: Callable[..., Awaitable[object]]
    ) -> Response:
        who = requests.caller(request)
        team, names = self._chosen(order)
        self._services.attendance.meant(who, team, names)

        async def do(tell: Tell) -> object:
            return {"team": team, "agents": await use_case(who, team, names, grace=order.grace, tell=tell)}

        return self._work(do)

    async def _hold(self, request: Request, use_case: Callable[..., Awaitable[object]]) -> Response:
        order = await requests.body(request, requests.ChosenBody)
        who = requests.caller(request)
        team, names = self._chosen(order)

        async def do(tell: Tell) -> object:
            return {"team": team, "agents": await use_case(who, team, names, everyone=order.all, tell=tell)}

        return self._work(do)

    def _chosen(self, order: requests.ChosenBody) -> tuple[str, list[str]]:
        team, names = find_agents(
            self._registry, team=order.team or "", agents=order.agents, everyone=order.all, cwd=order.cwd
        )
        return team.name, names

    def _one_agent(self, request: Request) -> Agent:
        return find_agent(
            self._registry,
            team=requests.text(request, "team"),
            agent=requests.text(request, "agent"),
            cwd=requests.text(request, "cwd"),
        )

    def _work(self, do: Callable[[Tell], Awaitable[object]]) -> Response:
        async def counted(tell: Tell) -> object:
            self._services.busy(1)
            try:
                return await do(tell)
            finally:
                self._services.busy(-1)

        return answers.work(self._background, counted)
