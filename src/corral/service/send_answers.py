"""Answers in words go the way of every message: into the line of their agent, and from there into its terminal."""

from __future__ import annotations

from corral.domain.records import Agent, Who
from corral.domain.sends import OBSERVED, SUBMITTED
from corral.service.inbox import Say
from corral.service.sends import Sends, must_have_reached

#: Whoever answers waits so long at most; the words go on by themselves then.
_SECONDS = 8.0


def through(sends: Sends) -> Say:
    """What says an answer; see `inbox.Say`."""

    async def say(who: Who, agent: Agent, raw: bytes) -> bool:
        # It asked, whatever it is; and its first prompt may be waiting for the answer.
        message = (await sends.send(who, agent, raw, enter=True, force=True)).message
        sent = await sends.wait(message, OBSERVED, _SECONDS)
        return must_have_reached(sends.told(sent), SUBMITTED, remedy=sent.remedy).state == OBSERVED

    return say
