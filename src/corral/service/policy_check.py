"""Asking a policy about somebody else's request: what would be decided, by which rule, and from which facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from corral.domain.errors import WrongUseError
from corral.domain.policy import AGENT, ATTACH, DRIVE, HOST, PERSON, TEAM, Caller, Decision, Question, Target, asked_as
from corral.ports.policy import Facts, Policy


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a person wants to know, in their words. What is left empty is taken from the facts."""

    verb: str
    #: USER, or TEAM/AGENT for an agent.
    who: str
    #: TEAM/AGENT, USER/AGENT, TEAM, @USER; empty for the host.
    on: str = ""
    role: str = ""
    owner: str = ""
    owner_role: str = ""
    teams: tuple[str, ...] = ()
    #: What counts for the verb alone.
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Explained:
    """The decision, what was asked, and what was assumed for want of facts."""

    decision: Decision
    question: Question
    assumed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        about = {"input": self.question.document(), "assumed": list(self.assumed)}
        return {**self.decision.as_json(), **about}


async def explain(policy: Policy, facts: Facts, asked: Asked) -> Explained:
    """What the policy decides. What is said in `asked` counts over the facts, to see what would change."""
    assumed: list[str] = []
    target = _target(facts, asked, assumed)
    if asked_as(asked.verb) == ATTACH and "mode" not in asked.facts:
        assumed.append(f"it is to type there (mode {DRIVE}): --mode says otherwise")
    question = Question(verb=asked.verb, who=_caller(facts, asked, target, assumed), on=target, facts=dict(asked.facts))
    return Explained(decision=await policy.decide(question), question=question, assumed=tuple(assumed))


def _caller(facts: Facts, asked: Asked, target: Target, assumed: list[str]) -> Caller:
    if "/" in asked.who:
        team, agent = _parted(asked.who)
        works_for = facts.target(team, agent)
        return Caller(user=works_for.owner if works_for is not None else "", member=True, agent=f"{team}/{agent}")
    known = facts.caller(asked.who)
    caller = known if known is not None else Caller(user=asked.who, member=bool(asked.role))
    if known is None and not asked.role:
        assumed.append(f"nothing is known of {asked.who}, who counts as no member: --role says otherwise")
    if asked.role:
        caller = replace(caller, member=True, role=asked.role)
    if asked.teams:
        return replace(caller, teams=asked.teams)
    if known is None and target.team and caller.user == target.owner:
        assumed.append(f"{caller.user} counts as one of the team {target.team}, being the owner")
        return replace(caller, teams=(target.team,))
    return caller


def _target(facts: Facts, asked: Asked, assumed: list[str]) -> Target:
    if not asked.on:
        return Target(kind=HOST, owner=asked.owner, owner_role=asked.owner_role)
    if asked.on.startswith("@"):
        owner = asked.owner or asked.on[1:]
        return Target(kind=PERSON, owner=owner, owner_role=asked.owner_role or _role_of(facts, owner))
    team, agent = _parted(asked.on) if "/" in asked.on else (asked.on, "")
    known = facts.target(team, agent)
    if known is None:
        known = Target(kind=AGENT if agent else TEAM, team=team, agent=agent, owner=team)
        if not asked.owner:
            assumed.append(f"nothing is known of {asked.on}, which counts as {team}'s: --owner says otherwise")
    owner = asked.owner or known.owner
    role = asked.owner_role or (known.owner_role if owner == known.owner else "") or _role_of(facts, owner)
    if not role:
        assumed.append(f"the role of {owner} is not known, so nobody looks after them: --owner-role says otherwise")
    return replace(known, owner=owner, owner_role=role)


def _role_of(facts: Facts, user: str) -> str:
    known = facts.caller(user)
    return known.role if known is not None else ""


def _parted(words: str) -> tuple[str, str]:
    team, _, agent = words.partition("/")
    if not team or not agent or "/" in agent:
        raise WrongUseError(f"{words!r} names no agent", "write it as TEAM/AGENT")
    return team, agent
