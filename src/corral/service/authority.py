"""Who may do what, for the requests of a shared server: questions put together from facts, and asked of the policy.

A request is looked at in *passes* that wait for nothing: what it is about is found, and every question looked up among
the answers there are. What is missing is asked for, and the next pass begins anew. So the last pass, in which nothing
was missing, saw one state of the world, and whatever is done right behind it is done to what was decided about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar
from weakref import WeakValueDictionary

from corral.domain.errors import DeniedError
from corral.domain.policy import AGENT, BUSY, HOST, PERSON, TEAM, Caller, Decision, Question, Target, denied
from corral.domain.records import Who
from corral.ports.policy import Facts, Policy

#: What is asked about a thing to know whether somebody may know that it is there.
SEES = "list_agents"
#: Questions of one user that are with the policy at once. Whoever has a long list waits for it, and nobody else does.
_AT_ONCE = 16
#: The world changes under a request only so often.
_MOST_PASSES = 20
#: In a stream, answers are used for so long before the policy is asked again: an OPA server may have other rules.
_FRESH_SECONDS = 1.0
#: Requests, and lists of rows, that are remembered; of a request with a longer query nothing is.
_MOST_REMEMBERED, LONGEST_REMEMBERED = 4096, 2048
_NOTHING: Mapping[str, str] = {}
#: What stands for an answer that is not there yet. The pass that met it counts for nothing.
_NOT_YET = denied("", "")

_T = TypeVar("_T")


def is_worth_remembering(query: bytes) -> bool:
    """Whether what is decided about a request is kept by its query. One that is asked again and again is short."""
    return len(query) <= LONGEST_REMEMBERED


class Authority:
    """The policy of a shared server, with what is known of its people."""

    def __init__(self, policy: Policy, facts: Facts) -> None:
        self.policy = policy
        self.facts = facts
        #: What was found out about requests and rows, as long as nothing changes that it was found out from.
        self._memory: dict[Hashable, object] = {}
        self._stamp: Hashable = None
        self._rooms: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def decide(self, user: str, question: Question) -> Decision:
        """What the policy says, for a request of this user."""
        async with self._rooms.setdefault(user, asyncio.Semaphore(_AT_ONCE)):
            return await self.policy.decide(question)

    def memory(self) -> dict[Hashable, object]:
        """What may be remembered until a fact changes. What a policy does not know by heart is not to be put there."""
        stamp = self.facts.stamp()
        if stamp != self._stamp or len(self._memory) > _MOST_REMEMBERED:
            self._memory.clear()
            self._stamp = stamp
        return self._memory

    def caller(self, who: Who) -> Caller:
        """Whoever asks, as a policy sees them. Of an agent, no more counts than that it works for a member."""
        if who.agent:
            team, _, agent = who.agent.partition("/")
            works_for = self.facts.target(team, agent)
            person = self.facts.caller(works_for.owner) if works_for is not None else None
            return Caller(user=who.user, uid=who.uid, member=person is not None and person.member, agent=who.agent)
        known = self.facts.caller(who.user)
        # Who got the name of somebody who left is somebody else.
        return known if known is not None and known.uid == who.uid else Caller(user=who.user, uid=who.uid)

    def target(self, team: str, agent: str = "") -> Target:
        """An agent, or without a name a team. One that is gone, or was never there, is nobody's."""
        if not team:
            return Target(kind=HOST)
        return self.facts.target(team, agent) or Target(kind=AGENT if agent else TEAM, team=team, agent=agent)

    def person(self, user: str, uid: int | None = None) -> Target:
        """What belongs to a person as such: a mailbox, for one. What was somebody's who had the name before, by the
        number that they had (`uid`), is nobody's.
        """
        known = self.facts.caller(user)
        if known is not None and uid not in (None, known.uid):
            return Target(kind=PERSON)
        return Target(kind=PERSON, owner=user, owner_role=known.role if known is not None else "")


@dataclass(slots=True)
class Asking:
    """All questions about one request, or one stream, of one caller."""

    authority: Authority
    who: Who
    _answers: dict[Hashable, Decision] = field(default_factory=dict)
    _missing: dict[Hashable, Question] = field(default_factory=dict)
    #: Who asks, as the facts were when the pass began.
    _caller: Caller | None = None
    _asked_at: float = 0.0
    #: Every answer of the last pass is known to the policy by heart: it will be the same until a fact changes.
    by_heart: bool = True

    @property
    def caller(self) -> Caller:
        if self._caller is None:
            self._caller = self.authority.caller(self.who)
        return self._caller

    @property
    def itself(self) -> Target:
        """What is the caller's own before anything else is: the agent that it is, or the person."""
        if self.who.agent:
            team, _, agent = self.who.agent.partition("/")
            return self.authority.target(team, agent)
        return self.authority.person(self.who.user)

    def question(self, verb: str, on: Target, facts: Mapping[str, str] = _NOTHING) -> Question:
        """May the caller do that?"""
        return Question(verb=verb, who=self.caller, on=on, facts=facts)

    def decision(self, verb: str, on: Target, facts: Mapping[str, str] = _NOTHING) -> Decision:
        """What is decided, if that is known; else a denial of this pass, and it is asked before the next one."""
        question = self.question(verb, on, facts)
        found = self.authority.policy.known(question)
        if found is not None:
            return found
        key = question.key
        found = self._answers.get(key)
        if found is None:
            self._missing[key] = question
            return _NOT_YET
        self.by_heart = False
        return found

    def sees(self, team: str, agent: str = "") -> bool:
        """Whether the caller may know that there is such an agent, or such a team."""
        return self.decision(SEES, self.authority.target(team, agent)).allow

    def passed(self, look: Callable[[], _T]) -> tuple[_T | None, bool]:
        """One pass: what `look` comes to, and whether that counts. What it raises counts as well, and is raised."""
        self._caller = None
        self._missing.clear()
        self.by_heart = True
        try:
            found = look()
        except Exception:
            if self._missing:
                return None, False
            raise
        return found, not self._missing

    async def settled(self, look: Callable[[], _T]) -> _T:
        """What `look` comes to when every question that it has was answered. Nothing is waited for behind that."""
        self._forget_old()
        for _ in range(_MOST_PASSES):
            found, counts = self.passed(look)
            if counts:
                return found  # type: ignore[return-value] # it counts
            await self._ask()
        raise DeniedError(
            "what this is about changes faster than it can be decided about, so it is denied", "try again", rule=BUSY
        )

    async def _ask(self) -> None:
        decide, user = self.authority.decide, self.who.user
        questions = iter(list(self._missing.items()))
        while portion := list(islice(questions, _AT_ONCE)):
            answers = await asyncio.gather(*(decide(user, question) for _, question in portion))
            self._answers.update(zip((key for key, _ in portion), answers, strict=True))

    def _forget_old(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._asked_at > _FRESH_SECONDS:
            self._answers.clear()
            self._asked_at = now
