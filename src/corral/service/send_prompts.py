"""First prompts go the way of every message: into the line of their agent, and from there into its terminal."""

from __future__ import annotations

from corral.domain.records import SUPERVISOR, Agent
from corral.domain.sends import SUBMITTED
from corral.service.sends import LONGEST_WAIT, Sends
from corral.supervise.prompts import Said, Say


def through(sends: Sends) -> Say:
    """What says a prompt, and comes back when it is submitted or will not be."""

    async def say(agent: Agent) -> Said:
        message = (await sends.prompt(SUPERVISOR, agent)).message
        while True:
            sent = await sends.wait(message, SUBMITTED, LONGEST_WAIT)
            if sent.is_over or sent.reached(SUBMITTED):
                return Said(sent.reached(SUBMITTED), sent.reason)

    return say
