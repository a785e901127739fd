"""The keeper process: takes calls from a daemon, does them, and tells what happens by itself.

One per OS user and host. It holds no truth of its own: killed at any moment, the next one finds the sessions again
by asking tmux. While a team's tmux server is up it stays, daemon or not, because it records the agents' output.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import socket
from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

import msgspec

from corral import __version__
from corral.background import Background
from corral.domain.enforcement import Enforcement
from corral.domain.errors import CorralError, WrongUseError, outline
from corral.domain.limits import Limits
from corral.keeper.check_verbs import CheckVerbs
from corral.keeper.conversations import ConversationVerbs
from corral.keeper.dialog_verbs import DialogVerbs
from corral.keeper.headroom import free_share
from corral.keeper.lending import LendingVerbs
from corral.keeper.merging import MergeVerbs
from corral.keeper.recording_verbs import RecordingVerbs
from corral.keeper.session_verbs import SessionVerbs
from corral.keeper.team import TeamKeeper
from corral.keeper.tools import HostTools
from corral.keeper.typing_verbs import TypingVerbs
from corral.peer import peer_of
from corral.ports import wire
from corral.ports.census import Bystander, Check
from corral.ports.files import SeenFile
from corral.ports.history import AskedMerge, FileHistory, OpenChanges
from corral.ports.keeper import PROTOCOL, Hello
from corral.ports.links import RealPath, SymbolicLinks
from corral.ports.memory import HostMemory
from corral.ports.output import LogPage, TerminalShown
from corral.ports.processes import Execution, Process, ProcessOrder
from corral.ports.reports import Report
from corral.ports.resources import HostPorts, Listening
from corral.ports.runs import Ended, Inventory, Launch, ReadyOrder, Started, TeamOrder
from corral.ports.usage import Usage
from corral.ports.workspace import Repository, Workspace, WorkspaceRemoval

log = logging.getLogger("corral.keeper")

#: How long a connection may take to carry what was still to be said when the keeper ends.
_LAST_WORDS_SECONDS = 1.0


class KeeperService(
    MergeVerbs, ConversationVerbs, DialogVerbs, CheckVerbs, TypingVerbs, SessionVerbs, RecordingVerbs, LendingVerbs
):
    """Every verb of `ports.keeper.Keeper`, done on this host."""

    def __init__(self, *, tools: HostTools, instance: str, user: str, host: str, boot_id: str) -> None:
        super().__init__(tools, self._team)
        self._tools = tools
        self._lending = tools.lending
        self._identity = (instance, user, host, boot_id)
        self._teams: dict[str, TeamKeeper] = {}
        self._listeners: list[Callable[[Report], None]] = []
        #: Set when the keeper shall end.
        self.done = asyncio.Event()

    def listen(self, listener: Callable[[Report], None]) -> Callable[[], None]:
        """Hear every report; returns how to stop hearing."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def busy(self) -> bool:
        """True while a team of this keeper is up."""
        return any(team.up for team in self._teams.values())

    def close(self) -> None:
        """Let go of everything; nothing ends by it."""
        for team in self._teams.values():
            team.close()

    async def hello(self) -> Hello:
        instance, user, host, boot_id = self._identity
        return Hello(
            protocol=PROTOCOL,
            version=__version__,
            instance=instance,
            user=user,
            host=host,
            boot_id=boot_id,
            pid=os.getpid(),
            containment=self._tools.containment.level,
            containment_why=self._tools.containment.why,
            obstacles=self._tools.obstacles,
        )

    async def inventory(self, team: str) -> Inventory:
        return await self._team(team).inventory()

    async def repository(self, path: str) -> Repository:
        return await self._tools.workspaces.repository(path)

    async def real_paths(self, directory: str, paths: list[str]) -> list[RealPath]:
        return await asyncio.to_thread(self._tools.real_paths, directory, paths)

    async def symbolic_links(self, directory: str) -> SymbolicLinks:
        return await asyncio.to_thread(self._tools.symbolic_links, directory)

    async def look_at_files(self, *, cwd: str, paths: list[str], tops: list[str]) -> list[SeenFile]:
        return await asyncio.to_thread(self._tools.look_at_files, cwd, paths, tops)

    async def file_history(
        self, *, repo: str, path: bytes, workspaces: list[str], limit: int, merges: list[AskedMerge]
    ) -> FileHistory:
        return await self._tools.history(repo, path, workspaces, limit, merges)

    async def open_changes(self, *, path: bytes, workspaces: list[str]) -> OpenChanges:
        return await self._tools.open_changes(path, workspaces)

    async def prepare_workspace(
        self, *, team: str, agent: str, kind: str, path: str, repo: str | None, start: str = "", access: str = "none"
    ) -> Workspace:
        return await self._tools.workspaces.prepare(
            team=team, agent=agent, kind=kind, path=path, repo=repo, start=start, access=access
        )

    async def guard_workspace(
        self, *, team: str, agent: str, path: str, enforcement: Enforcement, target: str = ""
    ) -> str:
        return await self._tools.workspaces.guard(
            team=team, agent=agent, path=path, enforcement=enforcement, target=target
        )

    async def register_server(self, *, path: str, profile: str) -> str:
        return await self._tools.workspaces.register(path, profile)

    async def register_hooks(self, *, path: str, profile: str, remove: bool) -> str:
        return await self._tools.workspaces.register_hooks(path, profile, remove=remove)

    async def inspect_workspaces(self, team: str) -> list[WorkspaceRemoval]:
        return await self._tools.workspaces.inspect(team)

    async def remove_workspace(
        self, *, team: str, agent: str, path: str, repo: str | None, discard: bool
    ) -> WorkspaceRemoval:
        return await self._tools.workspaces.remove(team=team, agent=agent, path=path, repo=repo, discard=discard)

    async def prepare(self, team: str, order: TeamOrder) -> None:
        await self._team(team).prepare(order)

    async def start(self, team: str, launches: list[Launch], order: TeamOrder) -> Started:
        return await self._team(team).start(launches, order)

    async def freeze(self, team: str, runs: list[str], *, frozen: bool) -> None:
        await self._team(team).freeze(runs, frozen=frozen)

    async def limit(self, team: str, limits: dict[str, Limits], team_limits: Limits) -> list[str]:
        return await self._team(team).limit(limits, team_limits)

    async def usage(self, team: str) -> list[Usage]:
        return await self._team(team).usage()

    async def host_ports(self, ports: list[int]) -> HostPorts:
        return await asyncio.to_thread(self._tools.host_ports, ports)

    async def listening(self, team: str, ports: list[int]) -> list[Listening]:
        members = await self._tools.containment.members(team)
        return await asyncio.to_thread(self._tools.listening, members, ports)

    async def over(self, team: str, runs: dict[str, str]) -> list[str]:
        return self._team(team).over(runs)

    async def watch_ready(self, team: str, order: ReadyOrder) -> None:
        self._team(team).watch_ready(order)

    async def keep_environments(self, team: str, environments: dict[str, dict[str, str]]) -> None:
        self._team(team).keep_environments(environments)

    async def host_memory(self, teams: list[str]) -> HostMemory:
        usages = [(team, await self._tools.containment.usage(team)) for team in teams]
        free = {team: share for team, usage in usages if (share := free_share(usage)) is not None}
        return HostMemory(free=free)

    async def stop(self, team: str, runs: dict[str, str], grace: float, *, spare: bool) -> Ended:
        return await self._team(team).stop(runs, grace, spare=spare)

    async def take_down(self, team: str, grace: float) -> Ended:
        self._lending.watch_no_more(team)
        return await self._team(team).take_down(grace)

    async def bystanders(self, team: str, directories: list[str], asking: int) -> list[Bystander]:
        return await asyncio.to_thread(self._tools.bystanders, team, directories, asking)

    async def census(self, team: str) -> list[Check]:
        return await self._tools.containment.census(team)

    async def forget_agent(self, team: str, agent: str) -> None:
        await self._team(team).forget_agent(agent)

    async def screen(self, team: str, run: str) -> TerminalShown:
        return await self._team(team).screen(run)

    async def attach_command(self, team: str, run: str, *, read_only: bool) -> list[str]:
        return await self._team(team).attach_command(run, read_only=read_only)

    async def read_log(
        self, *, team: str, agent: str, after: int | None, lines: int | None, since: float | None, wait: bool
    ) -> LogPage:
        return await self._team(team).read_log(agent, after=after, lines=lines, since=since, wait=wait)

    async def execute(self, team: str, order: ProcessOrder, wait: float | None, limit: int) -> Execution:
        return await self._team(team).processes.execute(order, wait, limit)

    async def processes(self, team: str, agent: str) -> list[Process]:
        return await self._team(team).processes.of_agent(agent)

    async def read_process(
        self, team: str, agent: str, process: str, *, after: int, limit: int, wait: float | None, late: bool
    ) -> Execution:
        return await self._team(team).processes.read(agent, process, after=after, limit=limit, wait=wait, late=late)

    async def wait_process(self, team: str, agent: str, process: str, *, wait: float | None) -> Process:
        return await self._team(team).processes.wait(agent, process, wait=wait)

    async def write_process(self, team: str, agent: str, process: str, *, data: bytes, eof: bool) -> None:
        await self._team(team).processes.write(agent, process, data, eof=eof)

    async def resize_process(self, team: str, agent: str, process: str, *, columns: int, rows: int) -> None:
        await self._team(team).processes.resize(agent, process, columns, rows)

    async def signal_process(self, team: str, agent: str, process: str, *, number: int) -> int:
        return await self._team(team).processes.signal(agent, process, number)

    async def end_process(self, team: str, agent: str, process: str, *, grace: float) -> Execution:
        return await self._team(team).processes.end(agent, process, grace)

    async def forget_processes(self, team: str, agent: str, processes: list[str]) -> None:
        await self._team(team).processes.forget(agent, processes)

    async def shelter_daemon(self, pid: int) -> None:
        await self._tools.containment.shelter_daemon(pid)

    async def shut_down(self, *, force: bool) -> bool:
        if self.busy and not force:
            return False
        self.done.set()
        return True

    def _team(self, name: str) -> TeamKeeper:
        team = self._teams.get(name)
        if team is None:
            team = self._teams[name] = TeamKeeper(self._tools, name, self._tell)
        return team

    def _tell(self, report: Report) -> None:
        for listener in list(self._listeners):
            listener(report)


class _Verb:
    """A method of the service with the types of its arguments, so that what arrives is checked before it is used."""

    def __init__(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        self._method = method
        hints = get_type_hints(method)
        hints.pop("return", None)
        self._arguments = msgspec.defstruct("Arguments", list(hints.items()), forbid_unknown_fields=True)

    async def __call__(self, raw: msgspec.Raw) -> Any:
        try:
            arguments = msgspec.msgpack.decode(raw, type=self._arguments)
        except msgspec.ValidationError as error:
            raise WrongUseError(f"the call does not fit: {error}") from error
        return await self._method(**msgspec.structs.asdict(arguments))


#: The verbs of the port and no others can be called.
VERBS = frozenset(
    """hello inventory repository real_paths symbolic_links look_at_files prepare_workspace guard_workspace
    register_server register_hooks inspect_workspaces remove_workspace prepare start over watch_ready
    keep_environments host_memory freeze limit usage stop take_down bystanders census forget_agent screen
    attach_command read_log execute processes read_process wait_process write_process resize_process signal_process
    end_process forget_processes host_ports listening file_history open_changes shelter_daemon shut_down
    typing_begin typing_paste typing_enter typing_proof typing_recall look_at_dialog press no_person announce run_notice
    look_for_conversation follow_transcript copy_environment fork_point check last_key merge_look merge_build
    merge_checkout merge_clear merge_land start_gate wait_gate session_attend session_read session_type
    session_resize session_leave session_steer sessions record recordings read_recording refs make_copy follow hand_in
    settle_branch watch_branches send_pack read_pack receive_pack write_pack drop_pack""".split()
)
#: Verbs that may wait for long, and for somebody who may go away.
_WAITING = frozenset(
    """read_log typing_proof execute read_process wait_process wait_gate check run_notice session_attend
    session_read""".split()
)


class KeeperServer:
    """Serves the service on a unix socket. Ends when nobody needs it: no daemon connected and no team up."""

    def __init__(self, service: KeeperService, caller: int | None = None) -> None:
        """With `caller`, a uid, whoever is at the other end must be that user: the daemon of a shared server."""
        self._service = service
        self._caller = caller
        methods = dict(inspect.getmembers(service, inspect.iscoroutinefunction))
        self._verbs = {name: _Verb(methods[name]) for name in VERBS}
        self._background = Background()
        service.listen(lambda _: self._end_if_not_needed())
        self._connections: set[asyncio.StreamWriter] = set()
        self._handlers: set[asyncio.Task[Any]] = set()

    async def serve(self, listening: socket.socket, on_ready: Callable[[], None], backlog: int) -> None:
        """Serve until told to end, or until nobody needs this keeper."""
        # Without a backlog of its own, asyncio would shorten the one that the socket has.
        server = await asyncio.start_unix_server(self._connected, sock=listening, backlog=backlog)
        async with server:
            on_ready()
            await self._service.done.wait()
            server.close()
            await self._disconnect()
        self._background.cancel()
        self._service.close()

    async def _disconnect(self) -> None:
        """Close every connection, with what was still to be said; one that nobody reads from is cut."""
        for writer in self._connections:
            writer.close()
        if self._handlers:
            await asyncio.wait(self._handlers, timeout=_LAST_WORDS_SECONDS)
        for writer in self._connections:
            writer.transport.abort()
        if self._handlers:
            await asyncio.wait(self._handlers, timeout=_LAST_WORDS_SECONDS)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._may_call(writer):
            writer.transport.abort()
            return
        self._connections.add(writer)
        handler = asyncio.current_task()
        assert handler is not None
        self._handlers.add(handler)
        handler.add_done_callback(self._handlers.discard)
        stop_listening = self._service.listen(lambda report: self._write(writer, wire.Told(report=report)))
        calls: set[asyncio.Task[Any]] = set()
        is_daemon = False
        frames = wire.FrameReader(reader)
        try:
            while True:
                frame = await frames.next()
                if not isinstance(frame, wire.Call):
                    raise ValueError("only calls are taken here")
                # The doctor says hello and no more, and leaves no trace.
                is_daemon = is_daemon or frame.verb != "hello"
                task = self._background.spawn(self._answer(writer, frame), name=frame.verb)
                calls.add(task)
                task.add_done_callback(calls.discard)
        except (asyncio.IncompleteReadError, ConnectionError):
            if is_daemon:
                log.info("a daemon disconnected")
        except (ValueError, msgspec.DecodeError) as error:
            log.warning("a connection sent nonsense and was closed: %s", error)
        finally:
            stop_listening()
            self._connections.discard(writer)
            writer.close()
            # Whoever waited for something is gone. Starts and stops go on: half of one is worse than a whole one.
            for task in calls:
                if task.get_name() in _WAITING:
                    task.cancel()
            self._end_if_not_needed()

    def _may_call(self, writer: asyncio.StreamWriter) -> bool:
        if self._caller is None:
            return True
        pid, uid = peer_of(writer.get_extra_info("socket"))
        if uid != self._caller:
            log.warning("a connection of uid %d (pid %d) was closed: only uid %d is served", uid, pid, self._caller)
        return uid == self._caller

    def _end_if_not_needed(self) -> None:
        if not self._connections and not self._service.busy:
            self._service.done.set()

    async def _answer(self, writer: asyncio.StreamWriter, call: wire.Call) -> None:
        try:
            verb = self._verbs.get(call.verb)
            if verb is None:
                raise WrongUseError(f"there is no verb {call.verb!r}")
            frame: wire.Frame = wire.Answer(number=call.number, value=wire.pack(await verb(call.arguments)))
        except CorralError as error:
            if self._caller is not None:
                # Others than its user are told less of it, and not what helps: see `domain.foreign_words`.
                log.info("%s: %s%s", call.verb, error.message, f" → {error.remedy}" if error.remedy else "")
            frame = wire.Failure(number=call.number, error=error.as_json())
        except Exception as error:
            log.exception("%s failed", call.verb)
            failure = CorralError(f"the keeper failed at {call.verb}: {outline(error)}", "its log has the details")
            frame = wire.Failure(number=call.number, error=failure.as_json())
        self._write(writer, frame)

    @staticmethod
    def _write(writer: asyncio.StreamWriter, frame: wire.Frame) -> None:
        if not writer.is_closing():
            writer.write(wire.encode(frame))
