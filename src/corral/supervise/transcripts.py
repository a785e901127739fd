"""Whose transcripts are read, to know what agents do: those that are certainly an agent's own.

The keeper is asked to follow the transcript of each run of which that can be said. It is asked again when more is known
of the conversation, when the agent does something else (what it has not found may be there by now), and when it is
another keeper.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from corral.agents import catalogue
from corral.agents.catalogue import Catalogue
from corral.background import Background
from corral.domain import states
from corral.domain.activity import TRANSCRIPT, Activity
from corral.domain.conversations import GIVEN, HOOK
from corral.domain.errors import CorralError
from corral.domain.records import Agent, Conversation
from corral.ports.conversations import TranscriptOrder
from corral.ports.keeper import Keeper
from corral.supervise.conversations import Conversations
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry

log = logging.getLogger("corral.daemon")

_Key = tuple[str, str]


class FollowedTranscripts:
    """Asks the keeper to follow them."""

    def __init__(self, registry: Registry, keepers: Keepers, conversations: Conversations) -> None:
        self._registry = registry
        self._keepers = keepers
        self._conversations = conversations
        self._background = Background()
        #: What was known of each agent that runs when it was last thought about, and what there is to follow then.
        self._known: dict[_Key, tuple[tuple[str, Conversation], TranscriptOrder | None]] = {}
        #: Which keeper was asked last, for each of them.
        self._asked: dict[_Key, Keeper] = {}
        registry.watch_agents(self._agents_changed)
        registry.watch_activity(self._does_something_else)

    def end(self) -> None:
        """Ask for nothing any more."""
        self._background.cancel()

    def looked(self, team: str) -> None:
        """The keeper listed the runs of a team: it may be another one than was asked."""
        for agent in self._registry.of_team(team).values():
            if agent.key in self._known and self._asked.get(agent.key) is not self._keepers.of_agent(agent).connected:
                self._ask(agent.key)

    def _agents_changed(self, keys: Collection[_Key]) -> None:
        profiles: Catalogue | None = None
        for key in keys:
            agent = self._registry.agents.get(key)
            if agent is None or agent.state not in states.LIVE:
                self._known.pop(key, None)
                self._asked.pop(key, None)
                continue
            news = (agent.run, agent.conversation)
            if agent.state != states.RUNNING or self._known.get(key, (None, None))[0] == news:
                continue
            profiles = profiles or catalogue.current()  # a whole team may have been started
            order = self._order(agent, profiles)
            before = self._known.get(key, (None, None))[1]
            self._known[key] = (news, order)
            if order != before:
                self._ask(key)

    def _does_something_else(self, key: _Key, does: Activity) -> None:
        if key in self._known and does.evidence != TRANSCRIPT:
            self._ask(key)

    def _ask(self, key: _Key) -> None:
        agent, order = self._registry.agents.get(key), self._known[key][1]
        keeper = self._keepers.of_agent(agent).connected if agent is not None else None
        if keeper is None or order is None:
            return
        self._asked[key] = keeper
        self._background.spawn(self._follow(keeper, key[0], order), name=f"transcript of {order.agent}")

    async def _follow(self, keeper: Keeper, team: str, order: TranscriptOrder) -> None:
        try:
            await keeper.follow_transcript(team, order)
        except CorralError as error:
            log.info("the transcript of %s/%s is not followed yet: %s", team, order.agent, error.message)

    def _order(self, agent: Agent, profiles: Catalogue) -> TranscriptOrder | None:
        """What to follow; None if it has none, or nobody can be certain which it is."""
        profile = profiles.for_command(agent.command, agent.shell)
        where = profile.resume.transcripts if profile is not None and profile.resume is not None else None
        if profile is None or where is None or not where.records:
            return None
        known = agent.conversation
        if known.evidence not in (HOOK, GIVEN) and not (
            # In a directory that others use as well, the newest may be anybody's.
            agent.workspace_kind == "worktree" and self._conversations.is_alone(agent, profile)
        ):
            return None
        return TranscriptOrder(
            agent=agent.name,
            run=agent.run,
            profile=profile.name,
            directory=agent.workspace,
            since=agent.started_at,
            session=known.id,
        )
