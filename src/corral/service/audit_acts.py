"""What Corral does to agents by itself is in the audit trail as well: restarts by policy, ends of lifetimes, pauses.

Nobody asked for it, so there is no decision of a policy; the journal is where it is said first, and what is heard there
is noted here, with the run that it was about. What is only observed (an agent ended, or is ready) is the journal's, and
so is what becomes of leases, tasks and messages in time: there is much of it, and it is done to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain.audit import AGENT, ITSELF, TEAM, Target
from corral.domain.records import SUPERVISOR, NewEvent
from corral.ports.store import Change
from corral.service.audit import Audit

#: The rule of what was done without anybody's asking.
RULE = "supervision"
#: Events that tell of something that was done; those that begin and end a thing are both there, as a decision and its
#: outcome are.
ACTS = frozenset(
    """
    agent.starting agent.started agent.failed agent.stopping agent.stopped agent.pausing agent.paused agent.resumed
    agent.expired agent.nudged agent.removed
    """.split()
)
#: The facts of an event that are kept.
_FACTS = ("run", "reason", "exit_code", "killed", "lifetime", "next", "why")


class ActsOfCorral:
    """Hears of what is journalled (`service.witness`)."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def hear(self, changes: Sequence[Change]) -> None:
        """Note what Corral did itself."""
        for change in changes:
            if change.who == SUPERVISOR:
                for event in change.events:
                    if event.event in ACTS:
                        self._note(event)

    def _note(self, event: NewEvent) -> None:
        on = Target(kind=AGENT if event.agent else TEAM, team=event.team, agent=event.agent)
        facts = {name: event.data[name] for name in _FACTS if event.data.get(name) is not None}
        self._audit.noted(ITSELF, event.event, on, rule=RULE, outcome=event.outcome, detail=facts)
