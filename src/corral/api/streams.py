"""Streams of rows, each as far as the caller may see it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from corral.api import answers
from corral.domain.records import Event
from corral.service.journal import Awaited
from corral.service.sight import EVERYTHING, Sight
from corral.service.stats import Stat


async def stats(looks: AsyncIterator[list[Stat]], sight: Sight) -> AsyncIterator[object]:
    """What is used, look by look."""
    async for look in looks:
        seen = await sight.rows(look, lambda stat: (stat.team, stat.agent.name if stat.agent is not None else ""))
        yield answers.stats(seen)


async def events(entries: AsyncIterator[Event | Awaited], sight: Sight) -> AsyncIterator[object]:
    """What of the journal may be told. Who waits for something that was never there has been told of it already."""
    async for entry in entries:
        if isinstance(entry, Awaited):
            yield entry
        elif sight is EVERYTHING or await sight.rows((entry,), lambda event: (event.team, event.agent)):
            yield answers.event(entry)
