"""How the audit trail gets to the disk: what somebody waits for at once, and the rest within about a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from corral.background import Background
from corral.domain.errors import CorralError
from corral.ports.audit import AuditTrail
from corral.service.unexpected import not_written

#: So soon what nobody waits for is on the disk.
_SYNC_SECONDS = 1.0


class Disk:
    """Knows up to which entry the trail is on the disk, and tells whoever waits for one.

    `written` says which entry was written last, and `failed` is told why it cannot get there.
    """

    def __init__(
        self,
        trail: AuditTrail,
        background: Background,
        written: Callable[[], int],
        failed: Callable[[CorralError], None],
    ) -> None:
        self._trail = trail
        self._background = background
        self._written = written
        self._failed = failed
        #: The last entry that is on the disk.
        self._synced = 0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._syncing = False
        self._timer: asyncio.TimerHandle | None = None
        #: What brings entries to the disk, or did last.
        self.syncer: asyncio.Task[None] | None = None

    async def arrival(self, number: int) -> None:
        """Return when the entry is on the disk. Raises if it never will be."""
        if number > self._synced:
            arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((number, arrived))
            self.begin()
            await arrived

    def begin(self) -> None:
        """Bring to the disk what is written."""
        if not self._syncing:
            self._syncing = True
            self.syncer = self._background.spawn(self._sync_all(), name="audit sync")

    def begin_in_time(self) -> None:
        """As `begin`, for what nobody waits for: together with what comes meanwhile."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SYNC_SECONDS, self._in_time)

    def forget_the_rest(self) -> None:
        """Nothing that nobody waits for is brought there any more: whoever closes the trail does that."""
        if self._timer is not None:
            self._timer.cancel()

    def _in_time(self) -> None:
        self._timer = None
        if self._synced < self._written():
            self.begin()

    async def _sync_all(self) -> None:
        try:
            while self._synced < self._written():
                try:
                    self._synced = await self._trail.sync()
                except Exception as any_error:  # whatever it is: they wait for an answer
                    error = not_written(any_error, "the audit trail")
                    self._failed(error)
                    for _, arrived in self._waiters:
                        if not arrived.done():
                            arrived.set_exception(error)
                            arrived.exception()
                    self._waiters.clear()
                    return
                waiters, self._waiters = self._waiters, []
                for number, arrived in waiters:
                    if number > self._synced:
                        self._waiters.append((number, arrived))
                    elif not arrived.done():
                        arrived.set_result(None)
                if not self._waiters:
                    return  # the timer takes care of what nobody waits for
        finally:
            self._syncing = False
