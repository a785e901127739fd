"""A keeper at the other end of a stream: calls out, answers and reports in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from corral.adapters.unix_keeper.calling import QUICK_SECONDS, SEND_SECONDS
from corral.adapters.unix_keeper.checking import CheckCalls
from corral.adapters.unix_keeper.conversations import ConversationCalls
from corral.adapters.unix_keeper.dialogs import DialogCalls
from corral.adapters.unix_keeper.lending import LendingCalls
from corral.adapters.unix_keeper.merging import MergeCalls
from corral.adapters.unix_keeper.patience import Patience, Pulse
from corral.adapters.unix_keeper.recordings import RecordingCalls
from corral.adapters.unix_keeper.sessions import SessionCalls
from corral.adapters.unix_keeper.typing import TypingCalls
from corral.domain.enforcement import Enforcement
from corral.domain.errors import CorralError, RefusedError, UnavailableError, from_json
from corral.domain.limits import Limits
from corral.peer import peer_of
from corral.ports import wire
from corral.ports.census import Bystander, Check
from corral.ports.files import SeenFile
from corral.ports.history import AskedMerge, FileHistory, OpenChanges
from corral.ports.keeper import Hello
from corral.ports.links import RealPath, SymbolicLinks
from corral.ports.memory import HostMemory
from corral.ports.output import LogPage, TerminalShown
from corral.ports.processes import Execution, Process, ProcessOrder
from corral.ports.reports import Report
from corral.ports.resources import HostPorts, Listening
from corral.ports.runs import Ended, Inventory, Launch, ReadyOrder, Started, TeamOrder
from corral.ports.usage import Usage
from corral.ports.workspace import Repository, Workspace, WorkspaceRemoval

_T = TypeVar("_T")
_HELLO_SECONDS = 5.0
_SLOW_SECONDS = 600.0


class KeeperClient(
    MergeCalls, ConversationCalls, DialogCalls, CheckCalls, TypingCalls, SessionCalls, RecordingCalls, LendingCalls
):
    """See `ports.keeper.Keeper`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_report: Callable[[Report], None],
        on_lost: Callable[[], None],
        user: str = "",
    ) -> None:
        """`on_report` raises RefusedError for a report that the connection is to end with. On a shared server `user` is
        whose keeper it is.
        """
        self._user = user
        self._writer = writer
        self._on_report = on_report
        self._on_lost = on_lost
        self._pending: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._numbers = 0
        self._answers = 0
        self._pulse = Pulse(lambda: self._ask("hello", {}))
        #: It was asked to end, so its going is no loss.
        self._dismissed = False
        self._who = _described(writer, user)
        self.closed = False
        #: Set once the keeper has said who it is; before that nobody relies on it, and its loss is nobody's.
        self.introduced = False
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))

    @classmethod
    async def connect(cls, path: str, on_report: Callable[[Report], None], on_lost: Callable[[], None]) -> KeeperClient:
        """Connect to a keeper's socket. Raises OSError if nobody is there."""
        try:
            reader, writer = await asyncio.open_unix_connection(path)
        except ConnectionResetError as error:  # it was killed as we came
            raise ConnectionRefusedError(error.errno, "nobody is there any more") from error
        return cls(reader, writer, on_report, on_lost)

    def close(self) -> None:
        """Disconnect; the keeper goes on."""
        self.closed = True
        self._reading.cancel()
        self._writer.close()
        self._fail_pending()

    async def hello(self) -> Hello:
        return await self._call(Hello, "hello", _HELLO_SECONDS)

    async def inventory(self, team: str) -> Inventory:
        return await self._call(Inventory, "inventory", team=team)

    async def repository(self, path: str) -> Repository:
        return await self._call(Repository, "repository", path=path)

    async def real_paths(self, directory: str, paths: list[str]) -> list[RealPath]:
        return await self._call(list[RealPath], "real_paths", directory=directory, paths=paths)

    async def symbolic_links(self, directory: str) -> SymbolicLinks:
        return await self._call(SymbolicLinks, "symbolic_links", directory=directory)

    async def look_at_files(self, *, cwd: str, paths: list[str], tops: list[str]) -> list[SeenFile]:
        return await self._call(list[SeenFile], "look_at_files", cwd=cwd, paths=paths, tops=tops)

    async def open_changes(self, *, path: bytes, workspaces: list[str]) -> OpenChanges:
        return await self._call(OpenChanges, "open_changes", SEND_SECONDS, path=path, workspaces=workspaces)

    async def file_history(
        self, *, repo: str, path: bytes, workspaces: list[str], limit: int, merges: list[AskedMerge]
    ) -> FileHistory:
        return await self._call(
            FileHistory, "file_history", SEND_SECONDS,
            repo=repo, path=path, workspaces=workspaces, limit=limit, merges=merges,
        )  # fmt: skip

    async def prepare_workspace(
        self, *, team: str, agent: str, kind: str, path: str, repo: str | None, start: str = "", access: str = "none"
    ) -> Workspace:
        return await self._call(
            Workspace,
            "prepare_workspace",
            _SLOW_SECONDS,
            team=team,
            agent=agent,
            kind=kind,
            path=path,
            repo=repo,
            start=start,
            access=access,
        )

    async def guard_workspace(
        self, *, team: str, agent: str, path: str, enforcement: Enforcement, target: str = ""
    ) -> str:
        return await self._call(
            str,
            "guard_workspace",
            _SLOW_SECONDS,
            team=team,
            agent=agent,
            path=path,
            enforcement=enforcement,
            target=target,
        )

    async def register_server(self, *, path: str, profile: str) -> str:
        return await self._call(str, "register_server", _SLOW_SECONDS, path=path, profile=profile)

    async def register_hooks(self, *, path: str, profile: str, remove: bool) -> str:
        return await self._call(str, "register_hooks", _SLOW_SECONDS, path=path, profile=profile, remove=remove)

    async def inspect_workspaces(self, team: str) -> list[WorkspaceRemoval]:
        return await self._call(list[WorkspaceRemoval], "inspect_workspaces", _SLOW_SECONDS, team=team)

    async def remove_workspace(
        self, *, team: str, agent: str, path: str, repo: str | None, discard: bool
    ) -> WorkspaceRemoval:
        return await self._call(
            WorkspaceRemoval,
            "remove_workspace",
            _SLOW_SECONDS,
            team=team,
            agent=agent,
            path=path,
            repo=repo,
            discard=discard,
        )

    async def prepare(self, team: str, order: TeamOrder) -> None:
        await self._call(type(None), "prepare", _SLOW_SECONDS, team=team, order=order)

    async def start(self, team: str, launches: list[Launch], order: TeamOrder) -> Started:
        return await self._call(Started, "start", _SLOW_SECONDS, team=team, launches=launches, order=order)

    async def freeze(self, team: str, runs: list[str], *, frozen: bool) -> None:
        await self._call(type(None), "freeze", team=team, runs=runs, frozen=frozen)

    async def limit(self, team: str, limits: dict[str, Limits], team_limits: Limits) -> list[str]:
        return await self._call(list[str], "limit", team=team, limits=limits, team_limits=team_limits)

    async def usage(self, team: str) -> list[Usage]:
        return await self._call(list[Usage], "usage", team=team)

    async def host_ports(self, ports: list[int]) -> HostPorts:
        return await self._call(HostPorts, "host_ports", ports=ports)

    async def listening(self, team: str, ports: list[int]) -> list[Listening]:
        return await self._call(list[Listening], "listening", team=team, ports=ports)

    async def over(self, team: str, runs: dict[str, str]) -> list[str]:
        return await self._call(list[str], "over", team=team, runs=runs)

    async def watch_ready(self, team: str, order: ReadyOrder) -> None:
        await self._call(type(None), "watch_ready", team=team, order=order)

    async def keep_environments(self, team: str, environments: dict[str, dict[str, str]]) -> None:
        await self._call(type(None), "keep_environments", team=team, environments=environments)

    async def host_memory(self, teams: list[str]) -> HostMemory:
        return await self._call(HostMemory, "host_memory", teams=teams)

    async def stop(self, team: str, runs: dict[str, str], grace: float, *, spare: bool) -> Ended:
        return await self._call(Ended, "stop", _SLOW_SECONDS + grace, team=team, runs=runs, grace=grace, spare=spare)

    async def take_down(self, team: str, grace: float) -> Ended:
        return await self._call(Ended, "take_down", _SLOW_SECONDS + grace, team=team, grace=grace)

    async def bystanders(self, team: str, directories: list[str], asking: int) -> list[Bystander]:
        return await self._call(list[Bystander], "bystanders", team=team, directories=directories, asking=asking)

    async def census(self, team: str) -> list[Check]:
        return await self._call(list[Check], "census", team=team)

    async def forget_agent(self, team: str, agent: str) -> None:
        await self._call(type(None), "forget_agent", team=team, agent=agent)

    async def screen(self, team: str, run: str) -> TerminalShown:
        return await self._call(TerminalShown, "screen", team=team, run=run)

    async def attach_command(self, team: str, run: str, *, read_only: bool) -> list[str]:
        return await self._call(list[str], "attach_command", team=team, run=run, read_only=read_only)

    async def read_log(
        self, *, team: str, agent: str, after: int | None, lines: int | None, since: float | None, wait: bool
    ) -> LogPage:
        return await self._call(
            LogPage,
            "read_log",
            None if wait else QUICK_SECONDS,
            team=team,
            agent=agent,
            after=after,
            lines=lines,
            since=since,
            wait=wait,
        )

    async def execute(self, team: str, order: ProcessOrder, wait: float | None, limit: int) -> Execution:
        return await self._call(Execution, "execute", _patience(wait), team=team, order=order, wait=wait, limit=limit)

    async def processes(self, team: str, agent: str) -> list[Process]:
        return await self._call(list[Process], "processes", team=team, agent=agent)

    async def read_process(
        self, team: str, agent: str, process: str, *, after: int, limit: int, wait: float | None, late: bool
    ) -> Execution:
        return await self._call(
            Execution, "read_process", _patience(wait),
            team=team, agent=agent, process=process, after=after, limit=limit, wait=wait, late=late,
        )  # fmt: skip

    async def wait_process(self, team: str, agent: str, process: str, *, wait: float | None) -> Process:
        return await self._call(
            Process, "wait_process", _patience(wait), team=team, agent=agent, process=process, wait=wait
        )

    async def write_process(self, team: str, agent: str, process: str, *, data: bytes, eof: bool) -> None:
        await self._call(type(None), "write_process", team=team, agent=agent, process=process, data=data, eof=eof)

    async def resize_process(self, team: str, agent: str, process: str, *, columns: int, rows: int) -> None:
        await self._call(
            type(None), "resize_process", team=team, agent=agent, process=process, columns=columns, rows=rows
        )

    async def signal_process(self, team: str, agent: str, process: str, *, number: int) -> int:
        return await self._call(int, "signal_process", team=team, agent=agent, process=process, number=number)

    async def end_process(self, team: str, agent: str, process: str, *, grace: float) -> Execution:
        return await self._call(
            Execution, "end_process", _SLOW_SECONDS + grace, team=team, agent=agent, process=process, grace=grace
        )

    async def forget_processes(self, team: str, agent: str, processes: list[str]) -> None:
        await self._call(type(None), "forget_processes", team=team, agent=agent, processes=processes)

    async def shelter_daemon(self, pid: int) -> None:
        await self._call(type(None), "shelter_daemon", pid=pid)

    async def shut_down(self, *, force: bool) -> bool:
        self._dismissed = True
        self._dismissed = await self._call(bool, "shut_down", force=force)
        return self._dismissed

    async def _call(self, answer: type[_T], verb: str, seconds: float | None = QUICK_SECONDS, **arguments: Any) -> _T:
        if self.closed:
            raise _gone(verb)
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        number = self._ask(verb, arguments, future)
        patience = None if seconds is None else Patience(self._pulse, self._who, verb, seconds, future)
        try:
            raw = await future
        finally:
            self._pending.pop(number, None)
            if patience is not None:
                patience.end()
        try:
            return msgspec.msgpack.decode(raw, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._hang_up()
            raise UnavailableError(
                f"{self._who} answered {verb} with what cannot be understood, and was hung up on",
                "is it of another version, or another program? keeper.log in CORRAL_HOME may tell why",
            ) from error

    def _ask(self, verb: str, arguments: dict[str, Any], future: asyncio.Future[msgspec.Raw] | None = None) -> int:
        self._numbers += 1
        if future is not None:
            self._pending[self._numbers] = future
        self._writer.write(wire.encode(wire.Call(number=self._numbers, verb=verb, arguments=wire.pack(arguments))))
        return self._numbers

    async def _read(self, reader: asyncio.StreamReader) -> None:
        frames = wire.FrameReader(reader)
        try:
            while True:
                frame = await frames.next()
                self._pulse.beats += 1
                if isinstance(frame, wire.Told):
                    self._on_report(frame.report)
                    continue
                self._answers += 1
                if isinstance(frame, wire.Call) or self._answers > self._numbers:
                    raise ValueError("an answer to nothing")
                self._settle(frame.number, frame.value if isinstance(frame, wire.Answer) else from_json(frame.error))
        except (
            asyncio.IncompleteReadError, ConnectionError, ValueError, RecursionError, msgspec.DecodeError, RefusedError,
        ):  # fmt: skip
            self._lose()

    def _hang_up(self) -> None:
        """On one that cannot be relied on."""
        if not self.closed:
            self._reading.cancel()
            self._lose()

    def _lose(self) -> None:
        self.closed = True
        self._writer.close()
        self._fail_pending()
        if self.introduced and not self._dismissed:
            self._on_lost()

    def _settle(self, number: int, outcome: msgspec.Raw | CorralError) -> None:
        future = self._pending.get(number)
        if future is None or future.done():
            return
        if isinstance(outcome, CorralError):
            outcome.said_by = self._user
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def _fail_pending(self) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(_gone("a call"))


def _patience(wait: float | None) -> float | None:
    """How long a call may take that waits so long for something."""
    return None if wait is None else wait + QUICK_SECONDS


def _described(writer: asyncio.StreamWriter, user: str) -> str:
    """Which keeper it is, whose if there are several, as the kernel says who listens at the other end."""
    name = f"the keeper of {user}" if user else "the keeper"
    peer = writer.get_extra_info("socket")
    if peer is None or peer.family != socket.AF_UNIX:
        return name
    pid, _ = peer_of(peer)
    return f"{name} (pid {pid})"


def _gone(verb: str) -> UnavailableError:
    return UnavailableError(
        f"the keeper went away during {verb}; what it was doing may or may not be done",
        "run the command again: it goes on from what there is",
    )
