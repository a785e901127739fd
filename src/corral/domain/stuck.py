"""Whether an agent that works has come to a stop. Pure.

It is looked at a few times within the time that its file says. If it was working at every look, and nothing new came to
its screen between any two of them (`stillness` says what is new), it is stuck: it is told so first, and if that moves
nothing, or cannot be done, a person is. Nothing is ever done to it. Only looks are counted, so nobody's clock matters.
"""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.records import Agent
from corral.domain.spec_durations import shown_duration

#: So many looks in the time that the file says.
LOOKS = 4
#: So many looks without a change after it was told: what was said to it changes the screen as well.
_LOOKS_AFTER_NUDGE = 2
#: Where it cannot be told, it is tried with so many looks before a person is.
_TRIES = 2
#: So many looks in a row that saw something new, and it goes on by itself.
_LOOKS_OF_LIFE = 2

NOTHING, NUDGE, PERSON, MOVED_ON = "nothing", "nudge", "person", "moved-on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the looks at one run have shown."""

    run: str
    #: When it last showed something new, by whatever clock: only whether that is another one matters.
    news: float | None
    #: Looks in a row without anything new, and with.
    still: int = 0
    lively: int = 0


def looked(seen: Seen | None, run: str, news: float | None) -> Seen:
    """After one more look."""
    if seen is None or seen.run != run:
        return Seen(run=run, news=news)
    if seen.news == news:
        return Seen(run=run, news=news, still=seen.still + 1)
    return Seen(run=run, news=news, lively=seen.lively + 1)


def verdict(seen: Seen, *, nudged: bool, stuck: bool, has_nudge: bool) -> str:
    """What follows: nothing, a word to the agent, one to a person; or that one which was told, or stuck, moved on.

    One that was to be told and could not be is not `nudged`.
    """
    if nudged or stuck:
        if seen.lively >= (1 if stuck else _LOOKS_OF_LIFE):
            return MOVED_ON
        return PERSON if not stuck and seen.still >= _LOOKS_AFTER_NUDGE else NOTHING
    if seen.still < LOOKS:
        return NOTHING
    return NUDGE if has_nudge and seen.still < LOOKS + _TRIES else PERSON


def in_words(agent: Agent) -> str:
    """Why a person is asked to look at one that is stuck."""
    reason = f"it works, and nothing new came to its screen for {shown_duration(agent.upkeep.stuck_after or 0.0)}"
    return f"{reason}; it could not be nudged: {agent.not_nudged}" if agent.not_nudged else reason
