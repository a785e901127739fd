"""What is done without a request of its own is in the audit trail as well: what Corral does by itself, and what comes
of a request long after it was answered.

The journal is where it is said first, and what is heard there is noted here.

| what | who | rule |
|---|---|---|
| restarts by policy, ends of lifetimes, pauses; what is typed, and letters about merges | Corral | `supervision` |
| that the branch of an agent of another user moves in a person's repository | Corral | `supervision` |
| how a command ended that was run for an agent | Corral | `supervision` |
| what becomes of a branch that was handed in | whoever handed it in | `queue` |
| that a message was typed, or could not be | whoever sent it | `queue` |

The first have no decision of a policy: nobody asked. What becomes of a branch has the trace id of the request that
asked for it; of a message, its id is in both.
What is only observed of an agent (it ended, or is ready) is the journal's, and so is what becomes of leases and tasks
in time: there is much of it, and it is done to nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corral.domain.audit import AGENT, HOST, ITSELF, TEAM, Actor, Target
from corral.domain.audit_detail import named
from corral.domain.policy import Caller
from corral.domain.records import SUPERVISOR, NewEvent, Who
from corral.domain.roles import AGENT_ROLE
from corral.ports.store import Change
from corral.service.audit import Audit

#: The rule of what was done without anybody's asking, and of what was put in line by a request and came out later.
RULE, QUEUE = "supervision", "queue"
#: Events that tell of something that was done; those that begin and end a thing are both there, as a decision and its
#: outcome are.
ACTS = frozenset(
    """
    agent.starting agent.started agent.failed agent.stopping agent.stopped agent.pausing agent.paused agent.resumed
    agent.expired agent.nudged agent.removed agent.handed_in
    prompt.sending prompt.submitted prompt.unknown message.sending message.submitted message.failed message.sent
    keeper.cut_off process.exited
    """.split()
)
#: Of a merge, that the target is about to be moved, and whatever ends it.
MERGES = frozenset(
    "merge.landing merge.merged merge.conflict merge.failed merge.refused merge.cancelled merge.residue".split()
)
#: Of a message to an agent, that it arrived or never will, be it long after it was sent.
MESSAGES = frozenset(("message.submitted", "message.failed"))
_FACTS_OF_MESSAGES = ("message", "bytes")
#: The facts of an event that are kept.
_FACTS = (
    *("run", "reason", "exit_code", "killed", "lifetime", "next", "why"),
    *("evidence", "bytes", "message", "to", "user", "process", "branch", "before", "commit"),
)
#: Of a merge: never why, since that quotes gates. Those of a target that moves say where it was, and where it is.
_FACTS_OF_MERGES = ("merge", "branch", "tip", "target")
_MOVES = {"merge.landing": ("base", "commit"), "merge.merged": ("base", "commit")}

#: What whoever caused something is to this host, where there are members.
Known = Callable[[Who], Caller]


class ActsOfCorral:
    """Hears of what is journalled (`service.witness`)."""

    def __init__(self, audit: Audit, known: Known | None = None) -> None:
        self._audit = audit
        self._known = known

    def hear(self, changes: Sequence[Change]) -> None:
        """Note what Corral did itself, and what became of what was in line."""
        for change in changes:
            for event in change.events:
                if event.event in MERGES:
                    self._note(change.who, event, QUEUE, (*_FACTS_OF_MERGES, *_MOVES.get(event.event, ())))
                elif change.who == SUPERVISOR:
                    if event.event in ACTS:
                        self._note(change.who, event, RULE, _FACTS)
                elif event.event in MESSAGES:
                    self._note(change.who, event, QUEUE, _FACTS_OF_MESSAGES)

    def _note(self, who: Who, event: NewEvent, rule: str, kept: Sequence[str]) -> None:
        facts = {name: event.data[name] for name in kept if event.data.get(name) is not None}
        on = _target(event.team, event.agent)
        to = facts.get("to")
        if isinstance(to, list):
            # Of a letter, to whom it goes: the event is about who wrote it.
            facts["to"] = named(to)
            if len(to) == 1 and "/" in to[0]:
                on = _target(*to[0].split("/"))
        trace = str(event.data.get("trace", ""))
        self._audit.noted(
            self._actor(who), event.event, on, rule=rule, outcome=event.outcome, detail=facts, trace=trace
        )

    def _actor(self, who: Who) -> Actor:
        if who == SUPERVISOR:
            return ITSELF
        if self._known is None:
            return Actor(uid=who.uid, user=who.user, agent=who.agent)
        known = self._known(who)
        role = AGENT_ROLE if who.agent else known.role
        return Actor(uid=who.uid, user=who.user, member=known.member, role=role, agent=who.agent)


def _target(team: str, agent: str) -> Target:
    return Target(kind=AGENT if agent else TEAM if team else HOST, team=team, agent=agent)
