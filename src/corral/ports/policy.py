"""Who decides what callers may do, and who knows what they are."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from corral.domain.policy import Caller, Decision, Question, Target


class Policy(Protocol):
    """Decides. The same question gets the same answer, whether an engine on this host finds it or an OPA server."""

    async def decide(self, question: Question) -> Decision:
        """May this be done? Never raises: without an answer, in time and in order, it is a denial that says why."""

    def known(self, question: Question) -> Decision | None:
        """What `decide` would say, if it is known without asking anybody; else None."""

    async def close(self) -> None:
        """Let go of what it holds. Nothing is asked of it any more."""


class Facts(Protocol):
    """What is known of people and of what is theirs, for whoever asks about somebody else's request."""

    def caller(self, user: str) -> Caller | None:
        """The person as a policy sees them; None if nothing is known of them.

        With the uid that they became a member with: whoever comes with another is somebody else who got their name.
        """

    def target(self, team: str, agent: str) -> Target | None:
        """The agent, or without a name the team, with whose it is; None if there is none of that name."""

    def stamp(self) -> Hashable:
        """Another one whenever something may be said otherwise than before, or names may mean something else."""


class NoFacts:
    """Facts where there are no members: nothing is known of anybody."""

    def caller(self, user: str) -> Caller | None:  # noqa: ARG002 - the port's
        return None

    def target(self, team: str, agent: str) -> Target | None:  # noqa: ARG002 - the port's
        return None

    def stamp(self) -> Hashable:
        return 0
