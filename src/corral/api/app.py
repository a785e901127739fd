"""The application: each route with its handler, and what is put around all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from corral.api import answers
from corral.api.agent_routes import AgentApi
from corral.api.audit_routes import AuditApi, own_entries
from corral.api.audit_routes import Sight as EntrySight
from corral.api.auditing import Auditing
from corral.api.daemon_routes import DaemonApi
from corral.api.hook_routes import HookApi
from corral.api.identifying import Identifying
from corral.api.inbox_routes import InboxApi
from corral.api.kv_routes import KvApi
from corral.api.lease_routes import LeaseApi
from corral.api.member_routes import MemberApi
from corral.api.merge_routes import MergeApi
from corral.api.msg_routes import MsgApi
from corral.api.openapi_table import ENDPOINTS
from corral.api.port_routes import PortApi
from corral.api.process_routes import ProcessApi
from corral.api.recording_routes import RecordingApi
from corral.api.router import Handler, Route, Router
from corral.api.send_routes import SendApi
from corral.api.services import Services
from corral.api.session_routes import SessionApi
from corral.api.task_routes import TaskApi
from corral.api.team_routes import TeamApi
from corral.api.token_routes import TokenApi
from corral.api.topic_routes import TopicApi
from corral.api.welcoming import Welcome
from corral.api.who_routes import WhoApi
from corral.api.working import Working
from corral.api.write_routes import WriteApi
from corral.service.lease_claims import LeaseClaims
from corral.service.writes import WriteService

if TYPE_CHECKING:
    from corral.api.meant import Meant

_own_entries: EntrySight = own_entries


def make_app(services: Services) -> Router:
    """The application. Every error leaves it as the error object of the contract."""
    auditing, network = Auditing(services.audit, _meant(services)), services.network
    around, unrouted, sight = auditing.__call__, auditing.unrouted, _own_entries
    if services.authority is not None:
        # A daemon of one person does without.
        from corral.api.audit_sight import asked_entries
        from corral.api.guarding import authorising

        guard, sight = authorising(services, services.authority), asked_entries(services.authority)
        around, unrouted = guard.__call__, guard.unrouted
    work, decides = Working(services.busy), services.authority is not None
    rooms = (
        DaemonApi(services),
        TeamApi(services, work),
        AgentApi(services, work),
        ProcessApi(services.registry, services.processes),
        KvApi(services.registry, services.kv),
        LeaseApi(services.registry, services.leases, LeaseClaims(services.supervisor), decides=decides),
        PortApi(services.registry, services.ports),
        MsgApi(services.msg),
        TopicApi(services.registry, services.topics),
        TaskApi(services.registry, services.tasks, decides=decides),
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
        TokenApi(None if network is None else network.load, services.supervisor, decides=decides),
    )
    welcome = Welcome(services.registry, services.inbox, services.attendance)
    far = None if network is None else network.callers
    identifying = Identifying(services.callers, services.refusals, far, services.authority)
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


def _meant(services: Services) -> Meant | None:
    if services.audit is None or services.authority is not None:
        return None
    from corral.api.guarding import meant

    return meant(services)


def _handler(rooms: Sequence[object], name: str) -> Handler:
    handler: Handler = next(getattr(room, name) for room in rooms if hasattr(room, name))
    return handler


def _on_error(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        # The caller went away before it had said all. Nothing was begun, and nobody hears this.
        return Response(status_code=400)
    return answers.of_error(error, f"{request.method} {request.url.path}")
