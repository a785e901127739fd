"""Whether a run that was started has come up in time: it is ready, and was told its first prompt. Pure.

One that waits for a person is not late: that it waits is told already. Without a `start_timeout` in its table a late
one is told of and left alone, for many take their time; with one, it is ended and started again if its policy says so.
"""

from __future__ import annotations

from corral.domain import states
from corral.domain.activity import WAITING, Activity
from corral.domain.records import PROMPT_SENDING, PROMPT_WAITING, Agent
from corral.domain.spec_durations import shown_duration

#: How long it may take where its table does not say.
DEFAULT_SECONDS = 60.0


def seconds(agent: Agent) -> float:
    """How long after its start it may not be up yet."""
    return agent.upkeep.start_timeout or DEFAULT_SECONDS


def is_awaited(agent: Agent, activity: Activity) -> bool:
    """True if its run is to be up some time, is not yet, and nobody but itself keeps it from that."""
    if agent.state != states.RUNNING or agent.paused or activity.word == WAITING:
        return False
    return not is_up(agent)


def is_up(agent: Agent) -> bool:
    """True if a run of it that is there has shown all that was waited for."""
    return agent.ready and agent.prompt_state not in (PROMPT_WAITING, PROMPT_SENDING)


def is_to_end(agent: Agent) -> bool:
    """True for a late one that is to be started again. One that is ready is not: only its prompt was not typed."""
    return not agent.ready and agent.upkeep.start_timeout is not None and agent.restart != "never"


def in_words(agent: Agent, *, typing: str, has_profile: bool) -> str:
    """Why one is late. `typing` is what its prompt waits for, if it is in line to be typed."""
    after = f"{shown_duration(seconds(agent))} after its start"
    if agent.ready:
        return f"its first prompt is not said {after}: {typing or 'it is about to be typed'}"
    unsaid = ", so its first prompt is not said" if agent.prompt_state == PROMPT_WAITING else ""
    if agent.ready_when:
        why = f"it waits for {agent.ready_when.shown}"
    elif has_profile:
        why = "its screen has not shown where to type"
    else:
        why = 'its output has not paused; ready = { log = "…" } in its table can say when it is ready'
    return f"it is not ready {after}{unsaid}: {why}"
