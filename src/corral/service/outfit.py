"""What an agent needs in its workspace besides its files: git's hooks, and Corral in the settings of its program.

`corral up` puts it there. Somebody may have removed it since, so it is put there again before the agent is started
again, by whomever.
"""

from __future__ import annotations

import logging

from corral.domain.errors import CorralError
from corral.domain.records import Agent, Team
from corral.ports.keeper import Keeper
from corral.service.context import Context
from corral.service.registering import register
from corral.service.worktrees import guard

log = logging.getLogger("corral.daemon")


async def fit_out(keeper: Keeper, team: Team, agent: Agent) -> list[str]:
    """Have all of it there. What a person should know of it, in words; raises if git's hooks cannot be written."""
    note = await guard(keeper, team, agent)
    return [*([f"{agent.name}: {note}"] if note else []), *await register(keeper, agent)]


async def fit_out_again(context: Context, agent: Agent) -> None:
    """As `fit_out`, before a restart by policy: nobody waits to be told, and the agent is started in any case."""
    try:
        keeper = await context.supervisor.keepers.of_agent(agent).open()
        notes = await fit_out(keeper, context.registry.teams[agent.team], agent)
    except CorralError as error:
        notes = [f"{agent.name}: {error.message}"]
    for note in notes:
        log.warning("%s/%s", agent.team, note)
