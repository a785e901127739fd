"""What a seat is still to be shown: bounded, and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

#: What may wait for a reader. A screen that is painted all over is a few tens of kilobytes.
MOST_WAITING = 256 * 1024


class Outlet:
    """Output on its way to one reader.

    When too much waits, `on_full` is called, and `on_room` once the reader has taken it. What is added in between is
    kept or not as `drops` says: one who shares what comes with others must not hold them up.
    """

    def __init__(self, on_full: Callable[[], None], on_room: Callable[[], None], *, drops: bool) -> None:
        self._on_full = on_full
        self._on_room = on_room
        self._drops = drops
        self._pieces: list[bytes] = []
        self._size = 0
        self._full = False
        self._closed = False
        self._changed = asyncio.Event()

    def add(self, data: bytes) -> None:
        """More to be shown."""
        if self._closed or (self._full and self._drops):
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MOST_WAITING and not self._full:
            self._full = True
            if self._drops:
                self._pieces.clear()
                self._size = 0
            self._on_full()
        self._changed.set()

    async def take(self) -> bytes:
        """All that waits, as soon as there is something; nothing at the end."""
        while not self._pieces and not self._closed:
            self._changed.clear()
            if self._full:
                self._full = False
                self._on_room()
            await self._changed.wait()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces = []
        self._size = 0
        if self._full and not self._drops:
            self._full = False
            self._on_room()
        return data

    def close(self) -> None:
        """Nothing more comes; what waits can still be taken."""
        self._closed = True
        self._changed.set()
