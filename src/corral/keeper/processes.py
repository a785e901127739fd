"""What a keeper does for the processes of one team: commands that were started for its agents.

The processes run under a host of their own (`ports.processes`), which goes on when this keeper does not.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

import msgspec

from corral.domain.credentials import FILE_VARIABLE
from corral.domain.environment import AGENT_VARIABLE
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.domain.unattended import unattended
from corral.keeper.confining import through
from corral.keeper.tools import HostTools
from corral.ports.checking import CHECK_PREFIX
from corral.ports.containment import HOST
from corral.ports.merging import GATE_PREFIX
from corral.ports.notices import NOTICE_PREFIX
from corral.ports.processes import RUN_PREFIX, Execution, OutputPage, Process, ProcessOrder
from corral.ports.recording import Launches
from corral.ports.reports import Degraded, ProcessCount, ProcessEnded, Report
from corral.ports.runs import ExitStatus

log = logging.getLogger("corral.keeper")

#: How long what happened may wait to be told.
_TELL_SECONDS = 0.02


class TeamProcesses:
    """The processes of one team. `report` carries what happens by itself to whoever listens."""

    def __init__(self, tools: HostTools, team: str, launches: Launches, report: Callable[[Report], None]) -> None:
        self._tools = tools
        self._team = team
        self._containment = tools.containment
        self._launches = launches
        self._report = report
        #: Everything that runs under the team's host, runs of agents without a terminal included.
        self.hosted = tools.processes(team, self)
        #: By agent, the commands of which something runs, as far as this keeper has heard. None until it has looked.
        self._running: dict[str, set[str]] | None = None
        #: What ended, and whose count changed, since that was told last.
        self._ended: list[ProcessEnded] = []
        self._changed: set[str] = set()
        self._telling: asyncio.TimerHandle | None = None
        #: By agent and whether they have a terminal: of what the environment of its commands was made, and what it is.
        self._environments: dict[tuple[str, bool], tuple[dict[str, str], object, dict[str, str]]] = {}
        #: The host that was given a place of its own.
        self._sheltered: int | None = None

    # Starting

    async def execute(self, order: ProcessOrder, wait: float | None, limit: int) -> Execution:
        """Start a command and wait for its end; see `Keeper.execute`."""
        running = (await self._known()).setdefault(order.agent, set())
        if len(running) >= order.most_running and order.process not in running and not await self._is_known(order):
            raise _too_many(order, len(running))
        # Counted before anything is waited for: of several that come at once, no more are started than may run.
        running.add(order.process)
        # Whoever waits may go away; a start that was begun is finished all the same.
        process = await asyncio.shield(self._counted(order, running))
        return await self._seen(await self._ended_within(process, wait), 0, limit)

    async def _counted(self, order: ProcessOrder, running: set[str]) -> Process:
        """Start one that is counted already: its end may be heard of before its start is answered."""
        try:
            process = await self.begin(order)
            if process.agent != order.agent:
                raise NotFoundError(f"{order.agent} has no process {order.process}", "choose another id: it is in use")
        except BaseException:
            running.discard(order.process)
            raise
        if not _runs(process):
            running.discard(order.process)
        self._count(order.agent)
        return process

    async def _is_known(self, order: ProcessOrder) -> bool:
        """The order came before, and what was started for it may have ended since."""
        return any(process.process == order.process for process in await self._commands())

    async def begin(self, order: ProcessOrder) -> Process:
        """Start something in the place of its agent, with its environment and its ports. It is counted nowhere."""
        environment = self._environment_for(order)
        if not os.path.isdir(order.directory):
            raise NotFoundError(f"there is no directory {order.directory} to run it in")
        place = await self._containment.place_of(self._team, order.agent)
        confined = through(
            self._tools,
            order.confines,
            order.bind,
            workspace=order.workspace,
            environment=environment,
            own=self._launches.own_directory(order.run),
            credential=self._launches.credential_file(order.agent),
            command=order.argv,
        )
        order = msgspec.structs.replace(order, argv=[*confined, *order.argv]) if confined else order
        process = await self.hosted.start(order, environment, place)
        await self.shelter()
        return process

    def _environment_for(self, order: ProcessOrder) -> dict[str, str]:
        """The agent's own, made quiet. Most commands of an agent have the same one, which is put together once."""
        found = self._launches.environment_of(order.agent)
        if found is None:
            raise CorralError(
                f"the environment that {order.agent} was started with is gone",
                f"corral restart {order.agent} starts it with the present one",
            )
        made_of = (order.run, order.declared)
        known = self._environments.get((order.agent, order.tty))
        if known is not None and not order.environment and known[0] is found and known[1] == made_of:
            return known[2]
        # As in its launch file: a tmux that it starts is its own, and it speaks to Corral as its agent.
        own = {}
        if order.run:
            own["TMUX_TMPDIR"] = self._launches.own_directory(order.run)
            own[FILE_VARIABLE] = self._launches.credential_file(order.agent)
        environment = unattended({**own, **found}, order.declared, order.environment, tty=order.tty)
        environment[AGENT_VARIABLE] = order.agent
        if not order.environment:
            self._environments[order.agent, order.tty] = (found, made_of, environment)
        return environment

    async def shelter(self) -> None:
        """Give a new host a place where it shares nobody's fate."""
        pid = self.hosted.server_pid
        if pid is None or pid == self._sheltered:
            return
        self._sheltered = pid
        try:
            await self._containment.shelter(self._team, pid, HOST)
        except CorralError as error:
            log.warning("the host of the processes of %s has no place of its own: %s", self._team, error.message)

    # Looking

    async def of_agent(self, agent: str) -> list[Process]:
        """The processes of an agent; of all with an empty name."""
        return [process for process in await self._commands() if agent in ("", process.agent)]

    async def counts(self) -> dict[str, int]:
        """How many commands of each agent run."""
        return {agent: len(running) for agent, running in (await self._known()).items() if running}

    async def read(
        self, agent: str, process: str, *, after: int, limit: int, wait: float | None, late: bool
    ) -> Execution:
        """Output from a cursor on; see `Keeper.read_process`."""
        found = await self._find(agent, process)
        page = self.hosted.read(process, after, limit)
        if not page.data and not page.omitted and not found.closed and wait != 0:
            try:
                async with asyncio.timeout(wait):
                    found = await self.hosted.changed(process, after, late=late and not found.running)
            except TimeoutError:
                found = await self.hosted.get(process)
        return await self._seen(found, after, limit)

    async def wait(self, agent: str, process: str, *, wait: float | None) -> Process:
        """Wait for the end of a command; see `Keeper.wait_process`."""
        return await self._ended_within(await self._find(agent, process), wait)

    async def _ended_within(self, process: Process, wait: float | None) -> Process:
        """The process once its command has ended, or so many seconds are over."""
        if not process.running or wait == 0:
            return process
        try:
            async with asyncio.timeout(wait):
                return await self.hosted.exited(process.process)
        except TimeoutError:
            return await self.hosted.get(process.process)

    async def _seen(self, process: Process, after: int, limit: int) -> Execution:
        # Most commands are short and many say nothing: then there is nothing on the disk to look for.
        silent = not limit or (process.closed and process.end <= after)
        page = OutputPage(data=b"", next=after) if silent else self.hosted.read(process.process, after, limit)
        if process.closed and not process.running and page.next >= process.end:
            self.hosted.answered(process.process)
        survivors = [] if process.running else await self.hosted.members(process.process)
        return Execution(process=process, page=page, survivors=survivors)

    async def _commands(self) -> list[Process]:
        return [process for process in await self.hosted.table() if _is_command(process.process)]

    async def _find(self, agent: str, process: str) -> Process:
        found = await self.hosted.get(process)
        if agent not in ("", found.agent) or not _is_command(process):
            raise NotFoundError(f"{agent} has no process {process}", "corral proc ls shows those it has")
        return found

    # Steering

    async def write(self, agent: str, process: str, data: bytes, *, eof: bool) -> None:
        """Give it something to read."""
        await self._find(agent, process)
        await self.hosted.write(process, data, eof=eof)

    async def resize(self, agent: str, process: str, columns: int, rows: int) -> None:
        """Change the size of its terminal."""
        await self._find(agent, process)
        await self.hosted.resize(process, columns, rows)

    async def signal(self, agent: str, process: str, number: int) -> int:
        """Send a signal to everything of it."""
        await self._find(agent, process)
        return await self.hosted.signal(process, number)

    async def end(self, agent: str, process: str, grace: float) -> Execution:
        """End everything of it; see `Keeper.end_process`."""
        await self._find(agent, process)
        left = await self.hosted.terminate(process, grace)
        found = await self.hosted.get(process)
        return Execution(process=found, page=OutputPage(data=b"", next=found.end), survivors=left)

    async def forget(self, agent: str, processes: list[str]) -> None:
        """Drop their records; see `Keeper.forget_processes`."""
        for process in processes:
            await self._find(agent, process)
        await self.hosted.forget(processes)

    async def forget_agent(self, agent: str) -> None:
        """Drop the records of an agent that was removed."""
        await self.hosted.forget([process.process for process in await self.of_agent(agent)])

    async def end_server(self) -> None:
        """End the host, with every record. Nothing runs under it any more."""
        await self.hosted.end_server()
        self._running = None
        self._sheltered = None

    def close(self) -> None:
        """Let go of everything; nothing ends by it."""
        if self._telling is not None:
            self._telling.cancel()
            self._tell()
        self.hosted.close()

    # ProcessListener

    def ended(self, process: Process) -> None:
        """A command has ended: tell, and count again."""
        if not _is_command(process.process):
            return
        if not _runs(process):
            self._discard(process.agent, process.process)
        self._ended.append(
            ProcessEnded(
                team=self._team, agent=process.agent, process=process.process, exit=process.exit or ExitStatus()
            )
        )
        self._count(process.agent)

    def gone(self, agent: str, process: str) -> None:
        """Nothing that the command started runs any more: count again."""
        if _is_command(process):
            self._discard(agent, process)
            self._count(agent)

    def _discard(self, agent: str, process: str) -> None:
        if self._running is not None:
            self._running.get(agent, set()).discard(process)

    def recording_failed(self, agent: str, why: str) -> None:
        """Output is not kept any more; the process goes on."""
        self._report(Degraded(team=self._team, agent=agent, why=why))

    def host_lost(self, why: str) -> None:
        """The host is gone; what ran under it goes on."""
        log.warning("the host of the processes of %s is gone: %s", self._team, why)
        self._sheltered = None

    # Counting

    async def _known(self) -> dict[str, set[str]]:
        if self._running is None:
            found: dict[str, set[str]] = {}
            for process in await self._commands():
                if _runs(process):
                    found.setdefault(process.agent, set()).add(process.process)
            if self._running is None:  # while we looked, somebody else may have
                self._running = found
        return self._running

    def _count(self, agent: str) -> None:
        self._changed.add(agent)
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(_TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        """Tell what ended and how many run: not for every command by itself, and after whoever waits for its end."""
        self._telling = None
        for ended in self._ended:
            self._report(ended)
        self._ended.clear()
        for agent in self._changed:
            running = len((self._running or {}).get(agent, ()))
            self._report(ProcessCount(team=self._team, agent=agent, running=running))
        self._changed.clear()


def _is_command(process: str) -> bool:
    """True for what was started for an agent: not its own run, no check of it, and no gate of the merge queue."""
    return not process.startswith((RUN_PREFIX, GATE_PREFIX, CHECK_PREFIX, NOTICE_PREFIX))


def _runs(process: Process) -> bool:
    """Something of it runs: the command, or what outlived it, as far as that is known without looking for it."""
    return process.running or bool(process.pids)


def _too_many(order: ProcessOrder, running: int) -> RefusedError:
    """Nothing that runs is ended for one that is new."""
    return RefusedError(
        f"{order.agent} has {running} commands that run, and may have {order.most_running}: "
        "that is processes.running in corral.toml",
        "end one: corral proc ls shows them, corral proc kill ends one. Or raise the number, then corral up",
    )
