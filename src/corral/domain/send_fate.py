"""What becomes of a message by what is known of its agent alone, before anybody looks at a terminal. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from corral.domain import states
from corral.domain.activity import NOT_KNOWN, WAITING, Activity
from corral.domain.records import PROMPT_SENDING, PROMPT_WAITING, Agent
from corral.domain.sends import FAILED, SUBMITTED, UNKNOWN, Send


def over(send: Send, agent: Agent | None) -> Mapping[str, str] | None:
    """What is to be written of a message that gets no further; None if it may.

    One of which something may have been typed is never typed again: not into the next run, and not by the next daemon.
    """
    if send.was_begun and (agent is None or send.run != agent.run or agent.state not in states.LIVE):
        if send.state == SUBMITTED:  # it was entered, whatever became of the agent then
            return {"step": "", "reason": "the agent ended before it was proved that it took it"}
        return {"state": UNKNOWN, "step": "", "reason": "the agent ended while it was being typed"}
    if agent is None or agent.state in states.AT_REST:
        why = f"{send.agent} is {agent.state}" if agent is not None else f"{send.agent} was removed"
        return {"state": FAILED, "step": "", "reason": why}
    if send.prompt_of and send.prompt_of != agent.run:
        return {"state": FAILED, "reason": "its run is over"}
    return None


def waits_for(send: Send, agent: Agent, activity: Activity = NOT_KNOWN) -> str:
    """Why a message cannot be typed into its agent now, whatever the terminal shows; empty if nothing is known."""
    if agent.state != states.RUNNING:
        return f"the agent is {agent.state}" + (f": {agent.reason}" if agent.reason else "")
    if agent.paused:
        return "the agent is paused"
    if agent.prompt_state in (PROMPT_WAITING, PROMPT_SENDING) and not (send.prompt_of or send.ahead or send.was_begun):
        # The composer may well be there: what makes a prompt be said is found out a moment later than that.
        asks = f", and the agent waits for a person ({activity.about})" if activity.word == WAITING else ""
        return f"its first prompt comes first{asks}"
    return ""


def not_pasted(send: Send, keeper: str, *, sure: bool, reason: str) -> Mapping[str, str]:
    """What is to be written of a message that was about to be pasted, and which `keeper` does not know to be pasted.

    If the keeper that was to paste it is sure that it did not, and will not, it may be begun anew. That another one
    knows nothing of it tells nobody anything.
    """
    if sure and send.keeper == keeper:
        return {"step": ""}
    return {"state": UNKNOWN, "step": "", "reason": reason or "Corral was interrupted while it typed"}
