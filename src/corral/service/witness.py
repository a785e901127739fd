"""Who hears of everything that is journalled, whoever writes it down: the one place that all of it goes through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from corral.domain.records import Event
from corral.ports.store import Change, Entry, Item, LogSize, Oldest, Snapshot, Store

#: Told of changes that are on the disk, in their order.
Hear = Callable[[Sequence[Change]], None]


class WitnessedStore:
    """A store as it is, and `hear` besides. See `ports.store.Store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listeners: list[Hear] = []
        self.instance = store.instance
        self.salt = store.salt

    def listen(self, hear: Hear) -> None:
        """Hear of what is written from now on, when whoever wrote it has gone on."""
        self._listeners.append(hear)

    async def load(self) -> Snapshot:
        """See `Store.load`."""
        return await self._store.load()

    async def commit(self, *changes: Change) -> None:
        """See `Store.commit`."""
        await self._store.commit(*changes)
        # After the writer: what it knows of the team is up to date by then.
        for hear in self._listeners:
            asyncio.get_running_loop().call_soon(hear, changes)

    async def items(self, kind: str) -> list[Item]:
        """See `Store.items`."""
        return await self._store.items(kind)

    async def log(self, *, after: int, team: str = "", topic: str = "", limit: int = 1000) -> list[Entry]:
        """See `Store.log`."""
        return await self._store.log(after=after, team=team, topic=topic, limit=limit)

    async def log_sizes(self) -> dict[str, LogSize]:
        """See `Store.log_sizes`."""
        return await self._store.log_sizes()

    async def oldest_in_log(self, person: str, size: LogSize) -> Oldest:
        """See `Store.oldest_in_log`."""
        return await self._store.oldest_in_log(person, size)

    async def events(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        since: float | None = None,
        team: str = "",
        agent: str = "",
        named: Sequence[str] = (),
        realm: tuple[str, str] | None = None,
        last: int | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """See `Store.events`."""
        return await self._store.events(
            after=after,
            before=before,
            since=since,
            team=team,
            agent=agent,
            named=named,
            realm=realm,
            last=last,
            limit=limit,
        )

    async def newest_besides(self, hidden: Collection[tuple[str, str]], before: int) -> int:
        """See `Store.newest_besides`."""
        return await self._store.newest_besides(hidden, before)

    async def close(self) -> None:
        """See `Store.close`."""
        await self._store.close()
