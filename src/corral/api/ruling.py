"""What is decided about a request: about each thing that it is about, with the rule, as the audit trail has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from starlette.requests import Request

from corral.api import requests
from corral.api.about import About, pinned
from corral.api.telling import Read
from corral.domain import audit as entries
from corral.domain.errors import DeniedError
from corral.domain.policy import PERSON, TEAM, Caller, Decision, Question, Target, remedy
from corral.domain.roles import AGENT_ROLE
from corral.service.audit import Audit
from corral.service.authority import Asking

#: Each thing that a request is about is an entry, up to so many; then it is one for each team, and each rule there.
_MOST_ENTRIES = 50


@dataclass(frozen=True)
class Ruling:
    """What a request is about, and what is decided about each of that."""

    about: About
    decisions: tuple[tuple[Target, Decision], ...]
    #: Whoever asks, for the trail.
    actor: entries.Actor
    #: The query as it came.
    query: bytes

    @cached_property
    def denial(self) -> Decision | None:
        """The first of them, if there is one."""
        return next((one for _, one in self.decisions if not one.allow), None)

    def refusal(self, verb: str, caller: Caller) -> DeniedError | None:
        """The answer to whoever asked, if something of it is denied."""
        about = self.about
        for place, (on, decision) in enumerate(self.decisions):
            if not decision.allow:
                # Each thing is asked about with the facts of the request, then with each of those that it has besides.
                facts = (about.facts, *about.more_facts)[place // len(about.on)]
                return denied(decision, Question(verb=verb, who=caller, on=on, facts=facts))
        return None

    @cached_property
    def rows(self) -> list[tuple[entries.Target, str]]:
        """What entries are about, each with its rule."""
        return rows(self.decisions)

    @cached_property
    def pinned(self) -> bytes:
        """The query as the handler is to read it."""
        return pinned(self.query, self.about.pins)

    def sheet(self, audit: Audit, verb: str, said: Mapping[str, object]) -> Read:
        """For what comes of it, where it is only read."""
        return Read(audit, self.actor, verb, self.rows, said)


def actor(request: Request, asking: Asking) -> entries.Actor:
    """Who asks, for the trail."""
    who, caller = asking.who, asking.caller
    role = AGENT_ROLE if who.agent else caller.role
    run, via = requests.identity(request).run, requests.via(request)
    return entries.Actor(uid=who.uid, user=who.user, member=caller.member, role=role, agent=who.agent, run=run, via=via)


def denied(decision: Decision, question: Question) -> DeniedError:
    """The answer to what is not allowed: why, by which rule, and what helps."""
    return DeniedError(decision.reason, remedy(decision, question), rule=decision.rule)


def rows(those: Sequence[tuple[Target, Decision]]) -> list[tuple[entries.Target, str]]:
    """What entries are about, each with the rule that decided; of too many, one entry for each team."""
    found = [(_target(on), decision.rule) for on, decision in those]
    if len(found) > _MOST_ENTRIES:
        found = list(dict.fromkeys((_whole(on), rule) for on, rule in found))
    return found


def _whole(on: entries.Target) -> entries.Target:
    """The team of something; what is of no team stands for itself."""
    return entries.Target(kind=TEAM, team=on.team) if on.team else on


@lru_cache(maxsize=4096)
def _target(on: Target) -> entries.Target:
    return entries.Target(kind=on.kind, team=on.team, agent=on.agent or (on.owner if on.kind == PERSON else ""))
