"""The processes of a team under a real host, with a cgroup for each or without, as a keeper would have them."""

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.subprocess.processes import HostedProcesses
from corral.domain.environment import team_markers
from corral.ports.processes import OutputPage, Process, ProcessOrder
from tests.support.cgroups import subtree
from tests.support.processes import process as find_process
from tests.support.processes import wait_gone

_numbers = itertools.count(1)


class Hosted:
    """A keeper's side of the processes of a team, and what it was told."""

    def __init__(self, directory: Path, group: Cgroup | None = None, records: Path | None = None) -> None:
        self.directory = directory
        self.group = group
        #: What every process of the team has in its environment.
        self.identity = {"CORRAL_INSTANCE": directory.name, "CORRAL_TEAM": "shop", "CORRAL_AGENT": "a"}
        self.records = records or directory / "processes"
        self.ended: list[Process] = []
        self.lost: list[str] = []
        self.trouble: list[tuple[str, str]] = []
        self.processes = HostedProcesses(
            team="shop",
            socket_path=str(directory / "host.sock"),
            directory=str(self.records),
            markers=team_markers(directory.name, "shop"),
            on_ended=self.ended.append,
            on_lost=self.lost.append,
            on_trouble=lambda agent, why: self.trouble.append((agent, why)),
        )

    def order(self, *argv: str, **more: Any) -> ProcessOrder:
        """An order for these words, or for a shell if there is only one."""
        words = list(argv) if len(argv) > 1 else ["sh", "-c", argv[0]]
        facts = {"process": f"p{next(_numbers):010x}", "agent": "a", "directory": str(self.directory)}
        return ProcessOrder(**{**facts, "argv": words, "command": " ".join(argv), **more})

    async def start(self, *argv: str, environment: dict[str, str] | None = None, **more: Any) -> Process:
        """Start a command, and return when it runs."""
        order = self.order(*argv, **more)
        place = self.group.path if self.group else ""
        return await self.processes.start(order, {**os.environ, **self.identity, **(environment or {})}, place)

    async def run(self, *argv: str, **more: Any) -> Process:
        """Start a command, and return when it has ended."""
        return await self.processes.exited((await self.start(*argv, **more)).process)

    async def says(self, process: Process | str, what: bytes, after: int = 0) -> OutputPage:
        """Wait until its output has this in it; all of it then."""
        name = process if isinstance(process, str) else process.process
        while True:
            now = await self.processes.get(name)
            page = self.processes.read(name, after, 1 << 24)
            if what in page.data:
                return page
            assert not now.closed, f"{now} wrote {page.data!r}"
            await self.processes.changed(name, page.next, late=True)

    async def output(self, process: Process | str) -> bytes:
        """All that it wrote, once nobody can write any more."""
        name = process if isinstance(process, str) else process.process
        end = (await self.closed(name)).end
        page = self.processes.read(name, 0, end + 1)
        assert page.next == end
        return page.data

    async def closed(self, process: Process | str) -> Process:
        """Wait until nobody holds its output open."""
        name = process if isinstance(process, str) else process.process
        now = await self.processes.get(name)
        while not now.closed:
            now = await self.processes.changed(name, now.end, late=True)
        return now

    async def gone(self, process: Process | str) -> None:
        """Wait until nothing of it runs: a process lets go of its output a moment before it is gone."""
        name = process if isinstance(process, str) else process.process
        for _ in range(1000):
            if not await self.processes.members(name):
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{await self.processes.members(name)} of {name} still run")


@asynccontextmanager
async def hosted(directory: Path, group: Cgroup | None = None, records: Path | None = None) -> AsyncIterator[Hosted]:
    """The processes of a team. At the end all of them are ended, and the host with them."""
    team = Hosted(directory, group, records)
    try:
        yield team
    finally:
        await end(team)


async def end(team: Hosted) -> None:
    """End everything, the host last."""
    for process in await team.processes.table():
        if process.running or process.pids:
            assert await team.processes.terminate(process.process, 0) == []
    await team.processes.end_server()
    team.processes.close()


@contextmanager
def place(level: str) -> Iterator[Cgroup | None]:
    """Where processes are born: a cgroup for the level of that name, nowhere in particular for the other."""
    if level == "process":
        yield None
        return
    with subtree() as own:
        yield own.make("agent-a")


def memory_of(pid: int) -> int:
    """Bytes of memory that a process has of its own."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        (line,) = (line for line in file if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


def kill(pid: int) -> None:
    """Kill a process, and return when it is gone."""
    found = find_process(pid)
    assert found is not None
    os.kill(pid, signal.SIGKILL)
    wait_gone([found], 10)
