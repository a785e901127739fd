"""Streams of rows, each as far as the caller may see it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from corral.api import answers
from corral.domain.records import Event
from corral.service.journal import Awaited
from corral.service.sight import EVERYTHING, Sight, Whose
from corral.service.stats import Stat


async def stats(looks: AsyncIterator[list[Stat]], sight: Sight) -> AsyncIterator[object]:
    """What is used, look by look."""
    async for look in looks:
        seen = await sight.rows(look, lambda stat: (stat.team, stat.agent.name if stat.agent is not None else ""))
        yield answers.stats(seen)


async def events(entries: AsyncIterator[Event | Awaited], sight: Sight) -> AsyncIterator[object]:
    """What of the journal may be told. Who waits for something that was never there has been told of it already."""
    if sight is EVERYTHING:
        async for entry in entries:
            yield entry if isinstance(entry, Awaited) else answers.event(entry)
        return
    # A daemon of one person does without.
    from corral.domain.policy import contents_of_event

    async for entry in entries:
        if isinstance(entry, Awaited):
            yield entry
        elif await sight.rows((entry,), whose):
            verb = contents_of_event(entry.event)
            hidden = bool(verb and entry.data) and whose(entry) not in await sight.opened(verb, (whose(entry),))
            yield answers.hidden_event(entry) if hidden else answers.event(entry)


def whose(entry: Event) -> Whose:
    """Whose an event is."""
    return entry.team, entry.agent
