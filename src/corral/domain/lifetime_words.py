"""How people are told that an agent's lifetime is over. Pure."""

from __future__ import annotations

from corral.domain.moments import Moment
from corral.domain.notices import ANNOUNCED, DONE, LIFETIME, Notice
from corral.domain.spec_durations import roughly, shown_duration


def ending(lifetime: float, seconds: float, name: str) -> str:
    """Its end comes in so many seconds."""
    return (
        f"its lifetime of {shown_duration(lifetime)} is over in {roughly(seconds)}, and it is stopped then; "
        f"corral restart {name} starts it anew"
    )


def over(lifetime: float) -> str:
    """Why it is stopped."""
    return f"its lifetime of {shown_duration(lifetime)} is over"


def announced_notice(team: str, agent: str, begun: Moment, lifetime: float, seconds: float) -> Notice:
    """It is stopped in so many seconds."""
    what = ending(lifetime, seconds, agent)
    more: dict[str, object] = {"stage": ANNOUNCED, "lifetime": lifetime, "seconds": round(seconds, 3)}
    return _notice(team, agent, begun, f"{team}/{agent} is stopped soon", what, more)


def done_notice(team: str, agent: str, begun: Moment, lifetime: float) -> Notice:
    """It was stopped."""
    what = f"{over(lifetime)}, and it is stopped; corral restart {agent} starts it anew"
    return _notice(team, agent, begun, f"{team}/{agent} is stopped", what, {"stage": DONE, "lifetime": lifetime})


def _notice(team: str, agent: str, begun: Moment, headline: str, what: str, more: dict[str, object]) -> Notice:
    return Notice(
        kind=LIFETIME,
        team=team,
        agent=agent,
        headline=headline,
        what=what,
        since=begun.wall,
        more=more,
        shown=what,
    )
