"""A keeper at the other end of a stream: calls out, answers and reports in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from corral.domain.errors import CorralError, UnavailableError, from_json
from corral.ports import wire
from corral.ports.keeper import (
    Check,
    Ended,
    Hello,
    Inventory,
    Launch,
    LogPage,
    Report,
    Repository,
    Run,
    Workspace,
    WorkspaceRemoval,
)

_T = TypeVar("_T")
#: For calls that only look. Calls that work (start, stop, a checkout) say themselves how long they may take.
_QUICK_SECONDS = 15.0
_SLOW_SECONDS = 600.0


class KeeperClient:
    """See `ports.keeper.Keeper`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_report: Callable[[Report], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._on_report = on_report
        self._on_lost = on_lost
        self._pending: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._numbers = 0
        self.closed = False
        #: Set once the keeper has said who it is; before that nobody relies on it, and its loss is nobody's.
        self.introduced = False
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))

    @classmethod
    async def connect(cls, path: str, on_report: Callable[[Report], None], on_lost: Callable[[], None]) -> KeeperClient:
        """Connect to a keeper's socket. Raises OSError if nobody is there."""
        reader, writer = await asyncio.open_unix_connection(path)
        return cls(reader, writer, on_report, on_lost)

    def close(self) -> None:
        """Disconnect; the keeper goes on."""
        self.closed = True
        self._reading.cancel()
        self._writer.close()
        self._fail_pending()

    async def hello(self) -> Hello:
        return await self._call(Hello, "hello")

    async def inventory(self, team: str) -> Inventory:
        return await self._call(Inventory, "inventory", team=team)

    async def repository(self, path: str) -> Repository:
        return await self._call(Repository, "repository", path=path)

    async def prepare_workspace(self, *, team: str, agent: str, kind: str, path: str, repo: str | None) -> Workspace:
        return await self._call(
            Workspace, "prepare_workspace", _SLOW_SECONDS, team=team, agent=agent, kind=kind, path=path, repo=repo
        )

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

    async def start(self, team: str, launches: list[Launch]) -> list[Run]:
        return await self._call(list[Run], "start", _SLOW_SECONDS, team=team, launches=launches)

    async def watch_ready(self, team: str, run: str) -> None:
        await self._call(type(None), "watch_ready", team=team, run=run)

    async def stop(self, team: str, runs: list[str], grace: float) -> Ended:
        return await self._call(Ended, "stop", _SLOW_SECONDS + grace, team=team, runs=runs, grace=grace)

    async def take_down(self, team: str, grace: float) -> Ended:
        return await self._call(Ended, "take_down", _SLOW_SECONDS + grace, team=team, grace=grace)

    async def census(self, team: str) -> list[Check]:
        return await self._call(list[Check], "census", team=team)

    async def send(self, team: str, run: str, text: str, *, enter: bool) -> None:
        await self._call(type(None), "send", 60.0, team=team, run=run, text=text, enter=enter)

    async def forget_agent(self, team: str, agent: str) -> None:
        await self._call(type(None), "forget_agent", team=team, agent=agent)

    async def screen(self, team: str, run: str) -> list[str]:
        return await self._call(list[str], "screen", team=team, run=run)

    async def attach_command(self, team: str, run: str, *, read_only: bool) -> list[str]:
        return await self._call(list[str], "attach_command", team=team, run=run, read_only=read_only)

    async def read_log(
        self, *, team: str, agent: str, after: int | None, lines: int | None, since: float | None, wait: bool
    ) -> LogPage:
        return await self._call(
            LogPage,
            "read_log",
            None if wait else _QUICK_SECONDS,
            team=team,
            agent=agent,
            after=after,
            lines=lines,
            since=since,
            wait=wait,
        )

    async def shut_down(self, *, force: bool) -> bool:
        return await self._call(bool, "shut_down", force=force)

    async def _call(self, answer: type[_T], verb: str, seconds: float | None = _QUICK_SECONDS, **arguments: Any) -> _T:
        if self.closed:
            raise _gone(verb)
        self._numbers += 1
        number = self._numbers
        future = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(wire.encode(wire.Call(number=number, verb=verb, arguments=wire.pack(arguments))))
            async with asyncio.timeout(seconds):
                raw = await future
        except TimeoutError:
            raise UnavailableError(
                f"the keeper did not answer {verb} within {seconds:.0f} s", "try again; its log may tell why"
            ) from None
        finally:
            self._pending.pop(number, None)
        return msgspec.msgpack.decode(raw, type=answer)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                frame = await wire.read(reader)
                if isinstance(frame, wire.Told):
                    self._on_report(frame.report)
                elif isinstance(frame, wire.Answer):
                    self._settle(frame.number, frame.value)
                elif isinstance(frame, wire.Failure):
                    self._settle(frame.number, from_json(frame.error))
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, msgspec.DecodeError):
            self.closed = True
            self._writer.close()
            self._fail_pending()
            if self.introduced:
                self._on_lost()

    def _settle(self, number: int, outcome: msgspec.Raw | CorralError) -> None:
        future = self._pending.get(number)
        if future is None or future.done():
            return
        if isinstance(outcome, CorralError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def _fail_pending(self) -> None:
        for future in self._pending.values():
            if not future.done():
                future.set_exception(_gone("a call"))


def _gone(verb: str) -> UnavailableError:
    return UnavailableError(
        f"the keeper went away during {verb}; what it was doing may or may not be done",
        "run the command again: it goes on from what there is",
    )
