"""Reading the journal: what there is, and then what comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from corral.domain.errors import NotFoundError
from corral.domain.records import Event, NewEvent, Who
from corral.service.context import Context
from corral.service.sight import EVERYTHING, Sight

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """In a followed journal: nothing of that name has ever been in it, and the reader waits for the first of it."""

    awaited: str


def never_had(team: str, agent: str) -> NotFoundError:
    """What is said of a team or an agent that nothing ever happened to, and of one that whoever asks may not see."""
    what = "an agent" if agent else "a team"
    return NotFoundError(
        f"the journal has never had {what} {_name(team, agent)}",
        "corral ps shows what is up; corral events -n all shows everything that happened",
    )


class Journal:
    """The use case."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._store = context.store

    async def note(self, who: Who, events: Sequence[NewEvent]) -> None:
        """Take down what somebody did without the daemon's help. It was done, so it waits if it cannot be written."""
        await self._registry.observe((), events, who)

    async def must_know(self, *, team: str, agent: str) -> None:
        """Raise NotFoundError for a team or an agent that nothing ever happened to."""
        if not await self._knows(team, agent):
            raise never_had(team, agent)

    async def _knows(self, team: str, agent: str) -> bool:
        return not (team or agent) or bool(await self._store.events(team=team, agent=agent, last=1))

    async def read(
        self,
        *,
        team: str = "",
        agent: str = "",
        named: Sequence[str] = (),
        after: int | None = None,
        since: float | None = None,
        last: int | None = None,
        follow: bool = False,
        sight: Sight = EVERYTHING,
    ) -> AsyncIterator[Event | Awaited]:
        """Events in order, without a gap and without a repeat; with `follow`, for as long as somebody listens.

        `named` are patterns for their names, such as `agent.*`, of which one must fit. `last` counts what may be seen:
        of the rest no more is told than there is, and whoever tells of them asks for each.
        """
        await self._registry.save()  # whoever has done something finds it
        if follow and not await self._knows(team, agent):
            yield Awaited(awaited=_name(team, agent))
        cursor = after
        if last == 0:
            newest = await self._store.events(last=1)
            cursor, last = (newest[0].seq if newest else 0), None
        if last is not None and sight is not EVERYTHING:
            newest = await self._store.events(last=1)
            found = await self._last_seen(sight, last, team=team, agent=agent, named=named, after=after, since=since)
            cursor, last = max(newest[0].seq if newest else 0, found.up_to), None
            for event in found.events:
                yield event
            if not follow:
                return
        while True:
            # Taken before the look: an event that comes between the look and the wait ends the wait at once.
            growth = asyncio.ensure_future(self._registry.journal_growth())
            await asyncio.sleep(0)
            try:
                newest = await self._store.events(last=1) if follow and named else []
                page = await self._store.events(
                    after=cursor, since=since, team=team, agent=agent, named=named, last=last, limit=_PAGE
                )
                for event in page:
                    cursor = event.seq
                    yield event
                last = None
                if cursor is None:
                    cursor = 0
                if newest and len(page) < _PAGE:
                    # What does not fit is not looked at again: a name that never comes must not cost the whole
                    # journal with every event that does.
                    cursor = max(cursor, newest[0].seq)
                if len(page) < _PAGE:
                    if not follow:
                        return
                    await growth
            finally:
                growth.cancel()

    async def _last_seen(
        self,
        sight: Sight,
        wanted: int,
        *,
        team: str,
        agent: str,
        named: Sequence[str],
        after: int | None,
        since: float | None,
    ) -> _Found:
        """The newest events that may be seen, looked for from the end on.

        Stretches of the journal that tell only of what may not be seen are passed over unread.
        """
        found: list[Event] = []
        hidden: set[tuple[str, str]] = set()
        before: int | None = None
        up_to = 0
        while before != 0:
            page = await self._store.events(
                after=after, before=before, since=since, team=team, agent=agent, named=named, last=_PAGE
            )
            up_to = up_to or (page[-1].seq if page else 0)
            seen = await sight.rows(page, _whose)
            found = [*seen, *found]
            if len(found) >= wanted or len(page) < _PAGE:
                break
            hidden |= {_whose(event) for event in page} - {_whose(event) for event in seen}
            before = await self._store.newest_besides(hidden, page[0].seq)
        return _Found(found[-wanted:], up_to)


@dataclass(frozen=True, slots=True)
class _Found:
    events: Sequence[Event]
    #: The newest that was looked at.
    up_to: int


def _whose(event: Event) -> tuple[str, str]:
    return event.team, event.agent


def _name(team: str, agent: str) -> str:
    return "/".join(part for part in (team, agent) if part)
