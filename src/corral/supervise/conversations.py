"""Conversations that go on: which one each agent has, and how its next run begins.

The id of a conversation is kept with the agent's record from the moment it is known: given by us when the run began,
told by a hook, or found in the files of the program. It is looked for when an agent does something else than before and
none is known, and each time that it is needed.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from corral.agents.catalogue import Catalogue, current
from corral.agents.command_words import with_words, words_of
from corral.agents.profile import Profile
from corral.background import Background
from corral.domain import conversations, states
from corral.domain.activity import Activity
from corral.domain.conversations import HOOK, TRANSCRIPT, Opening, Seen, Ways
from corral.domain.errors import CorralError
from corral.domain.records import Agent, NewEvent
from corral.ports.keeper import Keeper
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry

log = logging.getLogger("corral.daemon")


#: Seconds before each look for what a program may write in a moment.
_LOOKS = (0.0, 1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class Begun:
    """How a run begins: with this command, and this conversation."""

    command: tuple[str, ...]
    opening: Opening


class Conversations:
    """Knows them, as far as that can be known. `now` is unix time."""

    def __init__(self, registry: Registry, keepers: Keepers, now: Callable[[], float]) -> None:
        self._registry = registry
        self._keepers = keepers
        self._now = now
        self._background = Background()
        #: Agents that somebody looks for the conversation of.
        self._looking: set[tuple[str, str]] = set()
        registry.watch_activity(self._active)

    def end(self) -> None:
        """Look for nothing any more."""
        self._background.cancel()

    async def begin(
        self, keeper: Keeper, agents: Sequence[Agent], environments: Mapping[str, dict[str, str]] | None
    ) -> dict[str, Begun]:
        """How the next run of each agent begins. Nothing of the last one runs any more."""
        begun = {}
        catalogue = current()
        for agent in agents:
            profile, ways = _ways(agent, catalogue)
            seen = Seen()
            if profile is not None and ways is not None and agent.conversation.begun_at:
                environment = environments[agent.name] if environments is not None else None
                seen = await self._seen(keeper, agent, profile, environment)
            opening = conversations.opening(
                agent,
                ways,
                seen,
                alone=ways is not None and self.is_alone(agent, profile),
                now=self._now(),
                new_id=_new_id,
            )
            known = profile.command if profile is not None else ()
            begun[agent.name] = Begun(with_words(agent.command, agent.shell, known, opening.words), opening)
        return begun

    async def present(self, agent: Agent) -> str:
        """The id of the conversation that an agent has now, as far as can be known; empty if it has none."""
        profile, ways = _ways(agent)
        if profile is None or ways is None or not agent.conversation.begun_at:
            return ""
        seen = await self._seen(await self._keepers.of_agent(agent).open(), agent, profile, None)
        session, evidence = conversations.present(agent.conversation, seen, alone=self.is_alone(agent, profile))
        current = self._registry.agents.get(agent.key)
        if session and current is not None and current.run == agent.run:
            await self._note(current, session, evidence)
        return session

    async def heard(self, key: tuple[str, str], run: str, program: str, session: str) -> None:
        """A hook of a run told which conversation it has. `program` is the profile of who speaks."""
        agent = self._registry.agents.get(key)
        if agent is None or agent.run != run:
            return
        profile, ways = _ways(agent)
        # An agent may have another one do something for it, whose hooks speak in its name.
        if ways is not None and profile is not None and profile.name == program:
            await self._note(agent, session, HOOK)

    def _active(self, key: tuple[str, str], _: Activity) -> None:
        """The agent does something else: if words were said, its program has written them down by now."""
        agent = self._registry.agents.get(key)
        if agent is None or agent.state != states.RUNNING or agent.conversation.id or key in self._looking:
            return
        profile, ways = _ways(agent)
        if profile is not None and ways is not None and ways.transcripts is not None:
            self._looking.add(key)
            self._background.spawn(self._look(agent, profile), name=f"conversation of {agent.name}")

    async def _look(self, agent: Agent, profile: Profile) -> None:
        try:
            for pause in _LOOKS:
                await asyncio.sleep(pause)
                keeper = self._keepers.of_agent(agent).connected
                current = self._registry.agents.get(agent.key)
                if keeper is None or current is None or current.run != agent.run or current.conversation.id:
                    return
                seen = await self._seen(keeper, current, profile, None)
                if seen.newest and self.is_alone(current, profile):
                    await self._note(self._registry.agents.get(agent.key, current), seen.newest, TRANSCRIPT)
                    return
        except CorralError as error:
            log.info("the conversation of %s/%s is not known yet: %s", agent.team, agent.name, error.message)
        finally:
            self._looking.discard(agent.key)

    async def _note(self, agent: Agent, session: str, evidence: str) -> None:
        found = conversations.found(agent, session, evidence)
        if found is None:
            return
        data: dict[str, object] = {"session": session, "evidence": evidence, "run": agent.run}
        event = NewEvent(event="conversation.found", team=agent.team, agent=agent.name, data=data)
        # With an event only if it is another one: that a hook confirms what is known is no news.
        await self._registry.observe([found], [event] if agent.conversation.id != session else [])

    async def _seen(self, keeper: Keeper, agent: Agent, profile: Profile, environment: dict[str, str] | None) -> Seen:
        seen = await keeper.look_for_conversation(
            team=agent.team,
            agent=agent.name,
            profile=profile.name,
            directory=agent.workspace,
            since=agent.conversation.begun_at,
            session=agent.conversation.id,
            environment=environment,
        )
        return Seen(seen.looked, seen.there, seen.newest)

    def is_alone(self, agent: Agent, profile: Profile | None) -> bool:
        """True if no other agent of its OS user has the same program in the same directory.

        Programs keep their conversations by user, and where the agents of others are is the word of those.
        """
        catalogue, user = current(), self._keepers.user_of(agent)
        others = [
            other
            for other in self._registry.agents.values()
            if other.workspace == agent.workspace and self._keepers.user_of(other) == user
        ]
        return all(
            other.key == agent.key or catalogue.for_command(other.command, other.shell) != profile for other in others
        )


def _new_id() -> str:
    return str(uuid.uuid4())


def _ways(agent: Agent, catalogue: Catalogue | None = None) -> tuple[Profile | None, Ways | None]:
    """The profile of an agent's program, and how that continues conversations; None if nobody is to tell it how."""
    profile = (catalogue or current()).for_command(agent.command, agent.shell)
    ways = profile.resume if profile is not None else None
    if ways is not None and conversations.decides_itself(words_of(agent.command, agent.shell), ways):
        return profile, None
    return profile, ways
