"""The newest events of the journal that may be about files of a repository, read bit by bit, and no more than fits.

Between pages others have their turn at the store. What is about other repositories is not even decoded, so who fills
the journal with their own keeps nobody from theirs.
"""

from __future__ import annotations

import msgspec

from corral.domain.records import Event
from corral.domain.timestamps import timestamp
from corral.ports.store import Store

#: The newest events that are looked at, so many at once; and the bytes of those among them that are kept.
MOST_EVENTS, AT_ONCE = 20_000, 100
MOST_BYTES = 16 << 20
_NAMED = ("lease.*", "task.*", "merge.*")


class Pages:
    """What was read."""

    def __init__(self, realm: str, team: str, since: float | None) -> None:
        self._realm = realm, team
        self._since = since
        #: In order.
        self.events: list[Event] = []
        #: What was not read, in words.
        self.unread: list[str] = []
        #: Bytes of what is kept.
        self.bytes = 0

    async def read(self, store: Store) -> None:
        """Read the journal, from its end on."""
        newest = await store.events(last=1)
        if not newest:
            return
        before, oldest = newest[0].seq + 1, newest[0].seq - MOST_EVENTS
        pages: list[list[Event]] = []
        while before > max(oldest, 0) + 1 and not self.unread:
            after = max(before - 1 - AT_ONCE, oldest, 0)
            page = await store.events(
                after=after, before=before, since=self._since, named=_NAMED, realm=self._realm, limit=AT_ONCE
            )
            pages.append(self._kept(page))
            before = after + 1
        self.events = [event for page in reversed(pages) for event in page]

    def _kept(self, page: list[Event]) -> list[Event]:
        """Those of a page that there is room for, the newest of them."""
        for number in range(len(page) - 1, -1, -1):
            self.bytes += len(msgspec.json.encode(page[number].data))
            if self.bytes > MOST_BYTES:
                self.unread.append(f"the journal up to {timestamp(page[number].time)}: what is behind it is very long")
                return page[number + 1 :]
        return page
