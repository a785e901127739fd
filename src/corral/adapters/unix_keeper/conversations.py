"""The calls about conversations to a keeper at the other end of a stream."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.conversations import ConversationsSeen, ForkPoint, TranscriptOrder

#: Somebody may have kept thousands of conversations, or have a large worktree, on a slow disk.
_SECONDS = 60.0


class ConversationCalls(Calls):
    """See `ports.conversations.Conversing`."""

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
        return await self._call(
            ConversationsSeen,
            "look_for_conversation",
            _SECONDS,
            team=team,
            agent=agent,
            profile=profile,
            directory=directory,
            since=since,
            session=session,
            environment=environment,
        )

    async def follow_transcript(self, team: str, order: TranscriptOrder) -> None:
        await self._call(type(None), "follow_transcript", team=team, order=order)

    async def copy_environment(self, *, team: str, source: str, agent: str, own: dict[str, str]) -> None:
        await self._call(type(None), "copy_environment", team=team, source=source, agent=agent, own=own)

    async def fork_point(self, path: str) -> ForkPoint:
        return await self._call(ForkPoint, "fork_point", _SECONDS, path=path)
