"""Processes that do what a test says: they write, end and close when it tells them to. See `ports.processes`."""

import asyncio
from collections.abc import Sequence

import msgspec

from corral.domain.errors import NotFoundError, RefusedError
from corral.ports.processes import OutputPage, Process, ProcessOrder, Survivor
from corral.ports.runs import ExitStatus


class ScriptedProcesses:
    """The port, in memory. A host and its disk outlive whoever asks, and so does this over several runtimes."""

    def __init__(self) -> None:
        self.orders: dict[str, ProcessOrder] = {}
        self.said: dict[str, list[tuple[bytes, bool]]] = {}
        self.refused: dict[str, Exception] = {}
        self.trouble: Exception | None = None
        self.server_pid: int | None = None
        self._processes: dict[str, Process] = {}
        self._output: dict[str, bytes] = {}
        self._kept_from: dict[str, int] = {}
        self._something = asyncio.Condition()

    # What the test says

    async def writes(self, process: str, data: bytes) -> None:
        """The process, or something it started, writes."""
        self._output[process] += data
        await self._now(process, end=len(self._output[process]))

    async def ends(self, process: str, exit: ExitStatus, *, closed: bool = True) -> None:  # noqa: A002 - its name there
        """The process ends; with `closed`, nobody holds its output open."""
        await self._now(process, running=False, exit=exit, closed=closed)

    async def closes(self, process: str) -> None:
        """Nobody holds its output open any more."""
        await self._now(process, closed=True)

    def keeps_only(self, process: str, after: int) -> None:
        """Output up to this position was not kept."""
        self._kept_from[process] = after

    async def _now(self, process: str, **changes: object) -> None:
        self._processes[process] = msgspec.structs.replace(self._processes[process], **changes)
        async with self._something:
            self._something.notify_all()

    # The port

    async def start(self, order: ProcessOrder, environment: dict[str, str], cgroup: str) -> Process:
        if order.process in self.refused:
            raise self.refused[order.process]
        if order.process not in self._processes:
            self.server_pid = 1
            self.orders[order.process] = order
            self.said[order.process] = []
            self._output[order.process] = b""
            self._processes[order.process] = Process(
                process=order.process,
                agent=order.agent,
                command=order.command,
                started_at=1.0,
                running=True,
                # Beyond what the kernel gives out, so that nobody's children are found.
                pid=(1 << 22) + len(self._processes) + 1,
                stdin=order.stdin,
            )
        return self._processes[order.process]

    async def table(self) -> list[Process]:
        if self.trouble is not None:
            raise self.trouble
        return list(self._processes.values())

    async def get(self, process: str) -> Process:
        if process not in self._processes:
            raise NotFoundError(f"there is no process {process}")
        return self._processes[process]

    def answered(self, process: str) -> None:
        assert process in self._processes

    def read(self, process: str, after: int, limit: int) -> OutputPage:
        position = max(after, self._kept_from.get(process, 0))
        data = self._output[process][position : position + limit]
        return OutputPage(data=data, next=position + len(data), omitted=position - after)

    async def changed(self, process: str, after: int, *, late: bool = False) -> Process:
        async with self._something:
            while True:
                now = await self.get(process)
                if now.end > after or now.closed or not (now.running or late):
                    return now
                await self._something.wait()

    async def exited(self, process: str) -> Process:
        async with self._something:
            while (now := await self.get(process)).running:
                await self._something.wait()
            return now

    async def write(self, process: str, data: bytes, *, eof: bool) -> None:
        said = self.said[process]
        if not self.orders[process].stdin or (said and said[-1][1]):
            raise RefusedError(f"{process} takes nothing")
        said.append((data, eof))

    async def resize(self, process: str, columns: int, rows: int) -> None:
        raise AssertionError("nobody resizes what has no terminal")

    async def members(self, process: str) -> list[Survivor]:
        raise AssertionError("containment knows what belongs to a run")

    async def signal(self, process: str, number: int) -> int:
        raise AssertionError("containment ends runs")

    async def terminate(self, process: str, grace: float) -> list[Survivor]:
        raise AssertionError("containment ends runs")

    async def forget(self, processes: Sequence[str]) -> None:
        for process in processes:
            del self._processes[process]

    async def end_server(self) -> None:
        raise AssertionError("the host is not a runtime's to end")

    def close(self) -> None:
        """Nothing is held."""
