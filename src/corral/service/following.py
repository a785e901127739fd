"""A place in the log from which one topic is followed: every entry once and in order, however slow the reader is.

The place is the reader's alone, and pages are read from the log when it asks for them: nothing is queued for anybody.
While nothing of the topic is written, the place moves on with the log, so that a reader of a quiet topic is not told
that it came too late because others wrote much.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection

from corral.ports.store import Entry

#: What is written: a team and a topic.
Written = tuple[str, str]
#: Reads entries after a revision.
ReadAfter = Callable[[int], Awaitable[list[Entry]]]


class Place:
    """Where a reader is."""

    def __init__(self, team: str, topic: str, after: int) -> None:
        self._followed = (team, topic)
        self._cursor = after
        self._news = asyncio.Event()
        self._news.set()  # what is there already has not been read
        #: All up to the cursor was read, and nothing is being read.
        self._idle = False

    def heard(self, written: Collection[Written], settled: int) -> None:
        """Something was written; all up to revision `settled` is on the disk now."""
        if self._followed in written:
            self._news.set()
        elif self._idle and not self._news.is_set():
            self._cursor = max(self._cursor, settled)

    async def entries(self, read: ReadAfter, settled: Callable[[], int], page: int) -> AsyncIterator[Entry]:
        """What comes, for as long as somebody asks. `read` gives at most `page` entries, and fewer only at the end."""
        while True:
            await self._wait()
            before = settled()
            found = await read(self._cursor)
            for entry in found:
                self._cursor = entry.revision
                yield entry
            if len(found) == page:
                self._news.set()
            else:
                # Whatever has a smaller number was on the disk before it was read.
                self._cursor = max(self._cursor, before)

    async def _wait(self) -> None:
        self._idle = True
        try:
            await self._news.wait()
        finally:
            self._idle = False
        self._news.clear()
