"""How a keeper sees whether a run is ready: what it wrote, what it listens on, and what a command says."""

from __future__ import annotations

import asyncio
import secrets

from corral.domain.ready_rules import port_number
from corral.keeper.checks import TeamChecks
from corral.keeper.ready_rules import Eyes
from corral.keeper.runtimes import Runtimes
from corral.keeper.tools import HostTools
from corral.ports.checking import CHECK_PREFIX
from corral.ports.processes import ProcessOrder
from corral.ports.recording import Launches
from corral.ports.runs import ReadyOrder

#: A command that has not said in so long whether the run is ready is ended, and asked again later.
_COMMAND_SECONDS = 30.0


def eyes(tools: HostTools, team: str, launches: Launches, runtime: Runtimes, checks: TeamChecks) -> Eyes:
    """Those of one team."""

    async def listens(agent: str, port: str) -> bool:
        number = port_number(port, launches.environment_of(agent) or {})
        if number is None:
            return False
        members = await tools.containment.members(team)
        found = await asyncio.to_thread(tools.listening, {agent: members.get(agent, [])}, [])
        return any(one.port == number for one in found)

    async def succeeds(agent: str, wanted: ReadyOrder) -> bool:
        order = ProcessOrder(
            process=CHECK_PREFIX + secrets.token_hex(6),
            agent=agent,
            argv=["/bin/sh", "-c", wanted.rule.command],
            command=wanted.rule.command,
            directory=wanted.directory,
            run=wanted.run,
            bind=wanted.bind,
            confines=wanted.confines,
            workspace=wanted.directory,
            keep_records=None,
            keep_disk=None,
        )
        return (await checks.check(order, _COMMAND_SECONDS)).code == 0

    return Eyes(screen=runtime.screen, listens=listens, succeeds=succeeds)
