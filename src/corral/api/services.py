"""The use cases behind the routes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from corral.api.member_routes import Shared
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
from corral.service.leases import LeaseService
from corral.service.merges import Merges
from corral.service.msg import Msg
from corral.service.port_blocks import PortBlocks
from corral.service.processes import Processes
from corral.service.recordings import Recordings
from corral.service.refusals import Refusals
from corral.service.sends import Sends
from corral.service.sessions import Sessions
from corral.service.stats import Stats
from corral.service.tasks import Tasks
from corral.service.topics import Topics
from corral.service.up import Up
from corral.service.who import Who
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor

if TYPE_CHECKING:
    from corral.service.authority import Authority
    from corral.service.far_callers import FarCallers
    from corral.service.tokens import Tokens


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
    #: What has refusals of those who are not believed in the trail; None if there is none.
    refusals: Refusals | None = None
    #: Who tells whom it has before it; without it, agents are taken at their word.
    callers: Callers | None = None
    #: Members and policy of a shared server; None for an instance of one person.
    shared: Shared | None = None
    #: Who decides what callers may do; None if whoever can connect may do everything.
    authority: Authority | None = None
    #: Tokens, and what is reached over TCP; None in an application of a test that has none of it.
    network: Network | None = None
