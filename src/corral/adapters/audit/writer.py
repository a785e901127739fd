"""The audit trail for an event loop: one thread writes, one waits for the disk, and one reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from corral.adapters.audit.reading import Reader
from corral.adapters.audit.trail import Trail
from corral.adapters.worker import Worker
from corral.domain.audit import Entry, Note
from corral.domain.audit_terms import AuditTerms
from corral.ports.audit import Reached

#: The longest look of one reader before others have their turn.
_MOST_LOOKED_AT = 20_000


class TrailWriter:
    """See `ports.audit.AuditTrail`."""

    def __init__(self, trail: Trail, path: str, writing: Worker) -> None:
        self._trail = trail
        self._path = path
        self._writing = writing
        #: Held by whoever writes: the thread for that, or the event loop for what is done in no time.
        self._lock = threading.Lock()
        self._syncing = Worker("audit sync")
        #: Made when somebody reads.
        self._reading: Worker | None = None

    @classmethod
    async def open(
        cls, path: str, terms: AuditTerms, now: Callable[[], float], about: Mapping[str, object]
    ) -> TrailWriter:
        """Go on with the trail at `path`, or begin one. Raises as `Trail.open` does."""
        worker = Worker("audit")
        try:
            trail = await worker.do(lambda: Trail.open(path, terms, now, about))
        except BaseException:
            worker.end()
            raise
        return cls(trail, path, worker)

    @property
    def head(self) -> tuple[int, str]:
        """See the port."""
        return self._trail.head

    async def append(self, notes: Sequence[Note]) -> Reached:
        """See the port."""
        return await self._writing.do(lambda: self._append(notes))

    def append_now(self, notes: Sequence[Note]) -> Reached | None:
        """See the port."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if not self._trail.is_quick:
                return None
            self._trail.append(notes)
            return self._reached()
        finally:
            self._lock.release()

    def _append(self, notes: Sequence[Note]) -> Reached:
        with self._lock:
            self._trail.append(notes)
            return self._reached(self._trail.to_ship())

    def _reached(self, to_ship: bytes | None = None) -> Reached:
        return Reached(number=self._trail.number, unsigned=self._trail.unsigned, to_ship=to_ship)

    def _checkpoint(self) -> bytes | None:
        with self._lock:
            self._trail.checkpoint()
            return self._trail.to_ship()

    def _close(self) -> bytes | None:
        with self._lock:
            self._trail.close()
            return self._trail.to_ship()

    async def sync(self) -> int:
        """See the port."""
        return await self._syncing.do(self._trail.sync)

    async def checkpoint(self) -> bytes | None:
        """See the port."""
        return await self._writing.do(self._checkpoint)

    async def last(self, count: int, fits: Callable[[Entry], bool]) -> list[Entry]:
        """See the port."""
        return await self._reader().do(lambda: self._last(count, fits))

    async def after(
        self, number: int, since: str, fits: Callable[[Entry], bool], limit: int
    ) -> tuple[list[Entry], int]:
        """See the port."""
        return await self._reader().do(lambda: self._after(number, since, fits, limit))

    def _reader(self) -> Worker:
        if self._reading is None:
            self._reading = Worker("audit reader")
        return self._reading

    def _last(self, count: int, fits: Callable[[Entry], bool]) -> list[Entry]:
        reader = Reader(self._path)
        try:
            return reader.last(count, fits)
        finally:
            reader.close()

    def _after(self, number: int, since: str, fits: Callable[[Entry], bool], limit: int) -> tuple[list[Entry], int]:
        reader = Reader(self._path)
        found: list[Entry] = []
        try:
            if number:
                reader.go_behind(number)
            elif since:
                reader.go_to(since)
            for looked_at, entry in enumerate(reader.entries()):
                if entry.number <= number:
                    continue
                if fits(entry):
                    found.append(entry)
                number = entry.number
                if len(found) == limit or looked_at == _MOST_LOOKED_AT:
                    break
            return found, number
        finally:
            reader.close()

    async def close(self) -> bytes | None:
        """See the port."""
        line = await self._writing.do(self._close)
        for worker in (self._writing, self._syncing, self._reading):
            if worker is not None:
                worker.end()
        return line
