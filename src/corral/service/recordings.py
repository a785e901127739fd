"""Recordings of agents' terminals: which there are, and what is in them. Who read one is journalled."""

from __future__ import annotations

from collections.abc import AsyncIterator

from corral.domain.records import Agent, NewEvent, Who
from corral.ports.casts import RecordingShown
from corral.service.context import Context
from corral.service.reaching import keeper_soon


class Recordings:
    """The use cases."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor

    async def listed(self, agent: Agent) -> list[RecordingShown]:
        """What there is of an agent, the oldest first."""
        keeper = await keeper_soon(self._supervisor, agent.team, agent.name)
        return await keeper.recordings(agent.team, agent.name)

    async def read(self, who: Who, agent: Agent, recording: str) -> AsyncIterator[bytes]:
        """One of them, piece by piece, as far as it has been written. `NotFoundError` before the first piece."""
        keeper = await keeper_soon(self._supervisor, agent.team, agent.name)
        first = (await keeper.read_recording(agent.team, agent.name, recording, after=0)).data
        event = NewEvent(event="recording.read", team=agent.team, agent=agent.name, data={"recording": recording})
        await self._registry.observe((), [event], who)

        async def pieces() -> AsyncIterator[bytes]:
            data, after = first, 0
            while data:
                yield data
                after += len(data)
                data = (await keeper.read_recording(agent.team, agent.name, recording, after=after)).data

        return pieces()
