"""Ending an agent that is not as it should be, and leaving the rest to its restart policy."""

from __future__ import annotations

import logging
from collections.abc import Callable

from corral.domain import lifecycle, states
from corral.domain.errors import CorralError
from corral.domain.last_output import last_words
from corral.domain.records import SUPERVISOR, Agent
from corral.service.context import Context
from corral.supervise.supervisor import DEFAULT_GRACE

log = logging.getLogger("corral.daemon")


async def end_by_policy(context: Context, agent: Agent, why: str, is_so: Callable[[Agent], bool]) -> None:
    """End this run as if it had failed, unless it is over, stands still, or `is_so` says no when its turn has come."""
    async with context.supervisor.lock(agent.team):
        current = context.registry.agents.get(agent.key)
        if current is None or current.run != agent.run or current.state != states.RUNNING or current.paused:
            return
        if not is_so(current):
            return
        words = await _last_words(context, current)
        try:
            await context.supervisor.stop(
                agent.team,
                [agent.name],
                DEFAULT_GRACE,
                SUPERVISOR,
                lambda live, now: lifecycle.ending(live, why, lifecycle.BY_POLICY, now, words),
            )
        except CorralError as error:
            log.warning("%s/%s could not be ended (%s): %s", *agent.key, why, error.message)


async def _last_words(context: Context, agent: Agent) -> str:
    """What it shows before its terminal goes with it; nothing if nobody can tell, which keeps nobody from ending it."""
    try:
        keeper = await context.supervisor.keepers.of_agent(agent).open()
        return last_words((await keeper.screen(agent.team, agent.run)).lines)
    except CorralError as error:
        log.info("the last words of %s/%s are not known: %s", *agent.key, error.message)
        return ""
