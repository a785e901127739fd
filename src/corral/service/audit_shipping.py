"""Shipping checkpoints: the newest one that has not been, for it vouches for all before it."""

from __future__ import annotations

import asyncio
import logging

from corral.background import Background
from corral.domain.errors import BrokenTrailError, CorralError
from corral.ports.audit import Ship

log = logging.getLogger("corral.audit")


class Shipping:
    """Hands checkpoints to `ship` in threads, one at a time. What fails is logged once, and tried with the next one.

    What was shipped before and tells of another trail is logged as critical.
    """

    def __init__(self, ship: Ship) -> None:
        self._ship = ship
        self._waiting: bytes | None = None
        self._task: asyncio.Task[None] | None = None
        self._background = Background()
        #: Why the last one could not be shipped; empty if it was.
        self.trouble = ""

    def ship(self, line: bytes) -> None:
        """Have a checkpoint shipped. One that still waits need not be any more."""
        self._waiting = line
        if self._task is None or self._task.done():
            self._task = self._background.spawn(self._ship_all(), name="ship checkpoints")

    async def close(self) -> None:
        """Return when what waits was shipped, or could not be."""
        if self._task is not None:
            await self._task

    async def _ship_all(self) -> None:
        while (line := self._waiting) is not None:
            self._waiting = None
            try:
                await asyncio.to_thread(self._ship, line)
            except CorralError as error:
                if str(error) != self.trouble:
                    level = logging.CRITICAL if isinstance(error, BrokenTrailError) else logging.WARNING
                    log.log(level, "a checkpoint of the audit trail was not shipped: %s (%s)", error, error.remedy)
                self.trouble = str(error)
                continue
            if self.trouble:
                log.info("checkpoints of the audit trail are shipped again")
            self.trouble = ""
