"""Gates of a merge queue: commands that run under the team's host of processes, contained as one agent's would be.

A gate waits at its beginning until it is where everything that it starts stays with it: in a cgroup or a scope of the
team, called `_merge`. So it ends as an agent does, with all that it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

from corral.domain.environment import AGENT_VARIABLE, RESERVED_PREFIX, RUN_VARIABLE
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.domain.unattended import unattended
from corral.failpoint import point
from corral.keeper.processes import TeamProcesses
from corral.keeper.tools import HostTools
from corral.ports.containment import PROCESS, Placement
from corral.ports.merging import GATE_PREFIX, GATES, GateOrder, GateSeen
from corral.ports.processes import Process, ProcessOrder
from corral.ports.recording import Launches

#: Bytes of output that are kept of each: nobody reads the beginning of 100 MB, and the end tells what failed.
_HEAD, _TAIL = 32 << 10, 224 << 10
#: How long what a gate started may take to end when it is told to.
_GRACE = 2.0
#: Reads a line before it becomes the gate: until then it starts nothing. Standard input is at its end after that.
_WAIT_TO_BE_PLACED = """read -r _ || exit 125
if command -v bash >/dev/null 2>&1; then exec bash -c "$1"; fi
exec /bin/sh -c "$1"
"""
#: Of what an agent has in its environment as Corral's, what a gate has as well: which instance and team it is of.
_SHARED = frozenset(f"{RESERVED_PREFIX}{name}" for name in ("INSTANCE", "HOME", "RUNTIME_DIR", "TEAM"))


class TeamGates:
    """The gates of one team. One at a time runs; how many may run is the daemon's to say."""

    def __init__(
        self,
        tools: HostTools,
        team: str,
        launches: Launches,
        processes: TeamProcesses,
        *,
        place: str = GATES,
        prefix: str = GATE_PREFIX,
    ) -> None:
        self._team = team
        #: What stands in the place of an agent's name, and how those that are run there are called.
        self._place = place
        self._prefix = prefix
        self._containment = tools.containment
        self._launches = launches
        self._processes = processes
        self._hosted = processes.hosted

    async def start(self, order: GateOrder) -> None:
        """See `Merging.start_gate`."""
        if not order.gate.startswith(self._prefix):
            raise NotFoundError(f"{order.gate} is no gate", f"their names begin with {self._prefix}")
        if not os.path.isdir(order.directory):
            raise NotFoundError(f"there is no directory {order.directory} to run it in")
        process = next((one for one in await self._gates() if one.process == order.gate), None)
        if process is None:
            process = await self._begin(order)
        elif not process.running:
            return
        try:
            await self._contain(order, process.pid)
        except CorralError:
            await self.end()
            raise
        # Refused if an earlier keeper has let it go already.
        with contextlib.suppress(RefusedError):
            await self._hosted.write(order.gate, b"\n" + order.input, eof=True)
        point("keeper.gate_runs")

    async def _begin(self, order: GateOrder) -> Process:
        """Have it wait at its beginning."""
        wanted = ProcessOrder(
            process=order.gate,
            agent=self._place,
            argv=["/bin/sh", "-c", _WAIT_TO_BE_PLACED, "gate", order.command],
            command=order.command[:1000],
            directory=order.directory,
            stdin=True,
            keep_head=_HEAD,
            keep_tail=_TAIL,
            keep_records=None,
            keep_disk=None,
        )
        process = await self._hosted.start(wanted, self._environment(order), "")
        await self._processes.shelter()
        point("keeper.gate_waits")
        return process

    async def _contain(self, order: GateOrder, pid: int) -> None:
        if order.systemd == "off" or self._containment.level == PROCESS:
            return  # as with agents: a marker in the environment and descent have to do
        placement = Placement(agent=self._place, run=order.gate, pid=pid)
        admission = await self._containment.admit(self._team, [placement], order.team_limits)
        problem = admission.problems.get(order.gate, "")
        if problem and order.systemd == "require":
            raise CorralError(
                f"a gate of {self._team} cannot be contained, and the team requires it: {problem}",
                "`corral doctor` may tell why",
            )

    def _environment(self, order: GateOrder) -> dict[str, str]:
        """What the person had who said `up`, made quiet; nothing that was declared for an agent."""
        for agent, declared in order.like.items():
            found = self._launches.environment_of(agent)
            if found is None:
                continue
            left_out = {*declared, "PORT"}
            kept = {
                name: value
                for name, value in found.items()
                if name not in left_out and (name in _SHARED or not name.startswith(RESERVED_PREFIX))
            }
            environment = unattended(kept, (), order.environment, tty=False)
            environment[AGENT_VARIABLE] = self._place
            environment[RUN_VARIABLE] = order.gate
            return environment
        raise CorralError(
            f"the environment that {self._team} was started with is gone", "corral up, or corral restart --all"
        )

    async def wait(self, gate: str, *, wait: float, limit: int) -> GateSeen:
        """See `Merging.wait_gate`."""
        process = await self._hosted.get(gate)
        if process.running and wait > 0:
            try:
                async with asyncio.timeout(wait):
                    process = await self._hosted.exited(gate)
            except TimeoutError:
                process = await self._hosted.get(gate)
        output, omitted = self._end_of(process, limit)
        if process.running:
            return GateSeen(running=True, output=output, omitted=omitted)
        left = await self._hosted.members(gate)
        code = process.exit.shell_code if process.exit is not None else None
        return GateSeen(running=False, code=code, output=output, omitted=omitted, left=len(left))

    def _end_of(self, process: Process, limit: int) -> tuple[bytes, int]:
        """The last bytes that it wrote, and how many came before them."""
        at = max(0, process.end - limit)
        data = b""
        while at < process.end:
            page = self._hosted.read(process.process, at, limit)
            if page.next <= at:
                break
            data += page.data
            at = page.next
        data = data[-limit:] if limit else b""
        return data, max(0, process.end - len(data))

    async def end(self) -> list[str]:
        """End all of them with everything they started, and forget them; what would not end, in words."""
        gates = await self._gates()
        if not gates:
            return []
        pids = [process.pid for process in gates if process.running]
        for process in gates:
            if process.running or process.pids:
                await self._hosted.terminate(process.process, _GRACE)
        ended = await self._containment.end_runs(
            self._team, {process.process: self._place for process in gates}, pids, _GRACE, spare=False
        )
        point("keeper.gates_ended")
        await self._hosted.forget([process.process for process in gates])
        return [f"{one.command or one.name} (pid {one.pid}): {one.why}" for one in ended.residue]

    async def _gates(self) -> list[Process]:
        return [process for process in await self._hosted.table() if process.process.startswith(self._prefix)]
