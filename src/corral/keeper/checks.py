"""Checks of agents: commands that say whether an agent is well.

A check runs as what is started for an agent does: under the team's host, in the agent's cgroup, with its environment
and its ports. It is no command of the agent: it is not listed, not counted, and its record goes with it.
"""

from __future__ import annotations

import asyncio

from corral.domain.errors import CorralError, NotFoundError
from corral.keeper.processes import TeamProcesses
from corral.ports.checking import CHECK_PREFIX, Checked
from corral.ports.processes import Process, ProcessOrder

#: How long what a check started may take to end when it is told to.
_GRACE = 1.0
#: Of what it wrote, so much is told.
_TOLD_BYTES = 2000


class TeamChecks:
    """The checks of one team; of an agent, one at a time."""

    def __init__(self, processes: TeamProcesses) -> None:
        self._processes = processes
        self._hosted = processes.hosted
        self._turns: dict[str, asyncio.Lock] = {}

    async def check(self, order: ProcessOrder, within: float) -> Checked:
        """See `Checking.check`."""
        if not order.process.startswith(CHECK_PREFIX):
            raise NotFoundError(f"{order.process} is no check", f"their names begin with {CHECK_PREFIX}")
        async with self._turns.setdefault(order.agent, asyncio.Lock()):
            await self._clear(order.agent)
            try:
                process = await self._processes.begin(order)
                return await self._outcome(process, within)
            finally:
                # Also if whoever waited has gone: a check that nobody waits for is not left to run.
                await asyncio.shield(self._clear(order.agent))

    def forget(self, agent: str) -> None:
        """The agent is gone."""
        self._turns.pop(agent, None)

    async def _outcome(self, process: Process, within: float) -> Checked:
        try:
            async with asyncio.timeout(within):
                process = await self._hosted.exited(process.process)
        except TimeoutError:
            process = await self._hosted.get(process.process)
        output = self._end_of(process)
        if process.running:
            return Checked(timed_out=True, output=output)
        return Checked(code=process.exit.shell_code if process.exit is not None else None, output=output)

    def _end_of(self, process: Process) -> str:
        page = self._hosted.read(process.process, max(0, process.end - _TOLD_BYTES), _TOLD_BYTES)
        return page.data.decode("utf-8", "replace").strip()

    async def _clear(self, agent: str) -> None:
        """End and forget every check of the agent, also one that an earlier keeper left."""
        for process in await self._hosted.table():
            if process.agent != agent or not process.process.startswith(CHECK_PREFIX):
                continue
            # Also of one that has ended: what it started may not have.
            left = await self._hosted.terminate(process.process, _GRACE)
            if left:
                named = ", ".join(f"{one.command} (pid {one.pid})" for one in left)
                raise CorralError(f"the last check of {agent} would not end: {named}", "end it by hand")
            await self._hosted.forget([process.process])
