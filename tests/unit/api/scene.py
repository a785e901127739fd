"""The daemon's real server on a real socket, with a fake keeper behind it."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from corral.adapters.sqlite.store import SqliteStore
from corral.api.app import make_app
from corral.api.server import DaemonServer
from corral.api.services import Services
from corral.client.wire import Chunks
from corral.domain.moments import Moment
from corral.domain.waits import Waits
from corral.listening import listen
from corral.peer import user_name
from corral.places import Places
from corral.ports.keeper import Keeper
from corral.service import send_answers
from corral.service.agent_hooks import AgentHooks
from corral.service.agent_room import AgentRoom
from corral.service.agents import Agents
from corral.service.audit import Audit
from corral.service.authority import Authority
from corral.service.belongings import Belongings
from corral.service.context import Context
from corral.service.down import Down
from corral.service.fork import Fork
from corral.service.holding import Holding
from corral.service.hook_notices import HookNotices
from corral.service.inbox import InboxService
from corral.service.inbox_watch import InboxWatch
from corral.service.journal import Journal
from corral.service.kv import Kv
from corral.service.leases import LeaseService
from corral.service.ledger import Ledger
from corral.service.looking_after import LookingAfter
from corral.service.merge_book import MergeBook
from corral.service.merge_checks import MergeChecks
from corral.service.merge_letters import MergeLetters
from corral.service.merge_work import MergeWork
from corral.service.merges import Merges
from corral.service.msg import Msg
from corral.service.ownership import owns
from corral.service.port_blocks import PortBlocks
from corral.service.processes import Processes
from corral.service.recordings import Recordings
from corral.service.send_work import SendWork
from corral.service.sends import Sends
from corral.service.sessions import Sessions
from corral.service.stats import Stats
from corral.service.tasks import Tasks
from corral.service.topics import Topics
from corral.service.up import Up
from corral.service.who import Who
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.service.fake_keeper import FakeKeeper

OTHER_TEAM = replace(TEAM, name="toys", file="/y/corral.toml", directory="/y")
AGENTS = (AGENT, replace(AGENT, name="b", position=1), replace(AGENT, team="toys", name="z", workspace="/y"))


@dataclass
class Reply:
    """What the daemon answered."""

    status: int
    body: bytes
    head: bytes = b""

    @property
    def trace(self) -> str:
        """Under which trace id it says that it is in the audit trail; empty if it does not."""
        return self.head.partition(b"\r\nx-corral-trace: ")[2].partition(b"\r\n")[0].decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        return self.json["error"]


class Scene:
    """A daemon with two teams, and what may be asked of it."""

    def __init__(self, services: Services, keeper: FakeKeeper, store: SqliteStore, socket: str, waits: Waits) -> None:
        self.services = services
        self.processes = services.processes
        self.registry = services.registry
        self.keeper = keeper
        #: Of a shared server, by user.
        self.keepers: dict[str, FakeKeeper] = {}
        self.store = store
        self.socket = socket
        #: All waits that are under way.
        self.waits = waits

    async def ask(self, method: str, target: str, body: object = None, *, agent: str = "") -> Reply:
        """One request, over a connection of its own; as an agent, or as a person."""
        reader, writer = await self.begin(method, target, body, agent=agent)
        try:
            head, _, content = (await reader.read()).partition(b"\r\n\r\n")
            return Reply(int(head.split(b" ")[1]), content, head + b"\r\n")
        finally:
            writer.close()

    async def begin(
        self, method: str, target: str, body: object = None, *, agent: str = ""
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A request whose answer is not waited for."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        reader, writer = await asyncio.open_unix_connection(self.socket, limit=1 << 26)
        who = f"X-Corral-Agent: {agent}\r\n" if agent else ""
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: corral\r\n{who}"
            f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + content)
        return reader, writer

    async def stream(self, target: str) -> AsyncGenerator[Any, None]:
        """The lines of an answer, as they come."""
        reader, writer = await self.begin("GET", target)
        try:
            await reader.readuntil(b"\r\n\r\n")
            chunks, pending = Chunks(), b""
            while data := await reader.read(1 << 16):
                *lines, pending = (pending + chunks.feed(data)).split(b"\n")
                for line in lines:
                    yield json.loads(line)
            assert not pending
        finally:
            writer.close()

    async def exec(self, query: str = "agent=a", **body: object) -> Reply:
        return await self.ask("POST", f"/v1/exec?{query}", body)

    async def journal(self) -> list[tuple[str, str, dict[str, object]]]:
        await self.processes.settled()
        events = await self.store.events()
        return [(event.event, event.outcome, event.data) for event in events]


@contextlib.asynccontextmanager
async def served(
    directory: Path,
    socket: str,
    authority: Authority | None = None,
    audit: Audit | None = None,
    users: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Scene]:
    """A daemon that serves at `socket`; with an authority, as that of a shared server. `users` says whose each team is,
    if there is a keeper for each.
    """
    keepers = {user: FakeKeeper() for user in users.values()}
    keeper = keepers.get(user_name(os.getuid())) or FakeKeeper()

    async def connect(user: str, *_: object) -> Keeper:
        return cast("Keeper", keepers.get(user, keeper))

    store = await SqliteStore.open(str(directory / "corral.db"))
    registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
    await registry.commit(
        PERSON, teams=[replace(one, user=users.get(one.name, "")) for one in (TEAM, OTHER_TEAM)], agents=AGENTS
    )
    places = Places(str(directory), str(directory))
    supervisor = Supervisor(registry, connect, lambda: 0.0, shared=bool(users))
    context = Context(registry=registry, supervisor=supervisor, store=store, places=places, now=lambda: 0.0)
    ledger = Ledger(store)
    kv = Kv(context, ledger)
    waits = Waits()
    leases = LeaseService(context, ledger, waits)
    msg = Msg(context, ledger, waits, user_name(os.getuid()))
    ports = PortBlocks(context, ledger)
    tasks = Tasks(context, ledger, waits)
    sends = Sends(context, ledger)
    send_work = SendWork(context, sends)
    hooks = AgentHooks(context, ledger, leases, HookNotices(msg, sends, send_work))
    book, checks = MergeBook(context, ledger), MergeChecks(registry, leases)
    merge_work = MergeWork(context, book, checks, MergeLetters(msg))
    room = AgentRoom(registry)
    fork = Fork(context, ports, room)
    agents = Agents(context, ports)
    inbox = InboxService(context, ledger, send_answers.through(sends))
    inbox_watch = InboxWatch(context, inbox, book)
    holding = Holding(context)
    looking_after = LookingAfter(context, ledger, Moment, holding, sends, lambda _: None)
    await ledger.load()
    services = Services(
        places=places,
        instance="i",
        started_at=0.0,
        registry=registry,
        supervisor=supervisor,
        up=Up(context, ports, book, fork, room),
        down=Down(context, ports, Belongings(leases, tasks, msg), merge_work),
        agents=agents,
        fork=fork,
        holding=holding,
        attendance=looking_after.attendance,
        stats=Stats(context),
        kv=kv,
        leases=leases,
        who=Who(context, leases, tasks),
        msg=msg,
        topics=Topics(context, ledger),
        ports=ports,
        tasks=tasks,
        recordings=Recordings(context),
        sends=sends,
        sessions=Sessions(context, ledger, lambda _: None, partial(owns, registry, None)),
        merges=Merges(context, book, checks, merge_work),
        hooks=hooks,
        inbox=inbox,
        processes=Processes(context),
        journal=Journal(context),
        end=lambda: server.end(),
        busy=lambda _: None,
        authority=authority,
        audit=audit,
    )
    server = DaemonServer(make_app(services))
    serving = asyncio.ensure_future(server.serve(sockets=[listen(socket)]))
    try:
        scene = Scene(services, keeper, store, socket, waits)
        scene.keepers = keepers
        yield scene
    finally:
        server.end()
        await serving
        tasks.end()
        send_work.end()
        merge_work.end()
        inbox_watch.end()
        await looking_after.end()
        await services.processes.settled()
        await store.close()


def play(directory: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    """Do something with a daemon that serves."""

    async def run() -> None:
        async with served(directory, str(directory / "d.sock")) as scene:
            await asyncio.wait_for(act(scene), 60)

    asyncio.run(run())
