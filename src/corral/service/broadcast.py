"""One message to every agent of a team: a line and a receipt each, and nobody waits for anybody else."""

from __future__ import annotations

import asyncio

from corral.domain import kinds, messages
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.foreign_words import told_error
from corral.domain.records import Agent, Team, Who
from corral.domain.sends import FAILED
from corral.service.sends import Sends, Sent
from corral.supervise.registry import Registry


class Broadcast:
    """The use case."""

    def __init__(self, registry: Registry, sends: Sends) -> None:
        self._registry = registry
        self._sends = sends

    async def __call__(
        self, who: Who, team: Team, raw: bytes, *, role: str, enter: bool, state: str, seconds: float
    ) -> list[Sent]:
        """Send to all agents of the team, or to those of one role; services are none.

        Comes back when each got so far, or will not, or the time is over. One that cannot take a message has a receipt
        that says so, without an id. Whoever sends in the name of an agent does not get it.
        """
        messages.checked(raw)
        chosen = [agent for agent in self._registry.of_team(team.name).values() if self._is_meant(agent, who, role)]
        if not chosen:
            whom = f"no agent of role {role}" if role else "no other agent"
            raise NotFoundError(f"team {team.name} has {whom}", "corral ps shows the agents there are")
        return list(await asyncio.gather(*(self._one(who, agent, raw, enter, state, seconds) for agent in chosen)))

    @staticmethod
    def _is_meant(agent: Agent, who: Who, role: str) -> bool:
        if agent.kind != kinds.AGENT or (role and role not in (agent.declared_as, agent.name)):
            return False
        return who.agent not in (agent.name, f"{agent.team}/{agent.name}")

    async def _one(self, who: Who, agent: Agent, raw: bytes, enter: bool, state: str, seconds: float) -> Sent:
        try:
            send = await self._sends.send(who, agent, raw, enter=enter)
        except CorralError as error:
            return Sent(
                team=agent.team, agent=agent.name, message="", state=FAILED, bytes=len(raw), reason=told_error(error)
            )
        return self._sends.told(await self._sends.wait(send.message, state, seconds))
