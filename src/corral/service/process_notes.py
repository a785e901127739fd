"""The journal of what is done to processes, written beside the one who does it."""

from __future__ import annotations

import asyncio

from corral.domain.records import NewEvent, Who
from corral.supervise.registry import Registry

#: What is written to one process within so long is one event: somebody at a terminal writes a byte at a time.
_WRITTEN_SECONDS = 5.0


class ProcessNotes:
    """Takes events down in order, without making anybody wait for the disk.

    That is right here and would be wrong for an agent: whether a process runs is not said by the store but by the
    keeper, whose record is there before the command is. A daemon that is killed within the moment before an event is
    written costs a line of the journal, and no knowledge of what runs.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        #: Bytes that were written to processes (by whom, team, agent, process) and are not an event yet.
        self._written: dict[tuple[Who, str, str, str], int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, who: Who, event: NewEvent) -> None:
        """Something was done."""
        self._note_written()
        self._registry.note(who, event)

    def add_written(self, who: Who, team: str, agent: str, process: str, count: int) -> None:
        """So many bytes were written to a process."""
        key = (who, team, agent, process)
        self._written[key] = self._written.get(key, 0) + count
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_WRITTEN_SECONDS, self._note_written)

    async def settled(self) -> None:
        """Wait until everything is in the store, or waits for it in the registry because the store does not take it."""
        self._note_written()
        await self._registry.save()

    def _note_written(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        written, self._written = self._written, {}
        for (who, team, agent, process), count in written.items():
            data: dict[str, object] = {"process": process, "bytes": count}
            self._registry.note(who, NewEvent(event="process.written", team=team, agent=agent, data=data))
