"""The verbs about conversations, done on this host. See `ports.conversations.Conversing`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.agents import catalogue
from corral.domain.errors import NotFoundError
from corral.keeper.environments import like
from corral.ports.conversations import ConversationsSeen, ForkPoint, TranscriptOrder

if TYPE_CHECKING:
    from corral.keeper.team import TeamKeeper
    from corral.keeper.tools import HostTools


class ConversationVerbs:
    """Files go to the adapter that reads them, worktrees to the one of git."""

    _tools: HostTools
    _team: Callable[[str], TeamKeeper]

    async def look_for_conversation(
        self,
        *,
        team: str,
        agent: str,
        profile: str,
        directory: str,
        since: float,
        session: str,
        environment: dict[str, str] | None,
    ) -> ConversationsSeen:
        known = catalogue.by_name(profile)
        where = known.resume.transcripts if known is not None and known.resume is not None else None
        own = environment if environment is not None else self._tools.launches(team).environment_of(agent)
        if where is None or own is None:  # after a reboot nobody knows where the agent kept them, until it is up again
            return ConversationsSeen()
        return await asyncio.to_thread(
            self._tools.conversations, where, own, directory=directory, since=since, session=session
        )

    async def follow_transcript(self, team: str, order: TranscriptOrder) -> None:
        self._team(team).records.follow(order)

    async def copy_environment(self, *, team: str, source: str, agent: str, own: dict[str, str]) -> None:
        theirs = self._tools.launches(team).environment_of(source)
        if theirs is None:
            raise NotFoundError(
                f"the environment that {source} was started with is gone",
                f"corral stop {source}, then corral up: it is started with the present one",
            )
        self._team(team).keep_environments({agent: like(theirs, own)})

    async def fork_point(self, path: str) -> ForkPoint:
        return await self._tools.workspaces.fork_point(path)
