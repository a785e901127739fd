"""Those who wait for a task to claim, in the order in which they came. Nobody looks again and again: they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from corral.domain.errors import RefusedError
from corral.domain.tasks import Backlog
from corral.domain.waits import Waits

_T = TypeVar("_T")


class _Waiter:
    def __init__(self, labels: frozenset[str], ticket: int) -> None:
        self.labels = labels
        #: Of the wait in `Waits`.
        self.ticket = ticket
        #: It can never end any more.
        self.refusal: RefusedError | None = None
        #: There is something for it.
        self.told = asyncio.Event()


class Waiters:
    """The line of each team."""

    def __init__(self, backlog: Callable[[str], Backlog], waits: Waits) -> None:
        self._backlog = backlog
        self._waits = waits
        self._lines: dict[str, dict[_Waiter, None]] = {}

    async def wait(
        self, team: str, party: str, labels: frozenset[str], seconds: float, take: Callable[[], Awaitable[_T | None]]
    ) -> _T | None:
        """What `take` gives as soon as there is something for these labels; None if there was nothing in time.

        `take` decides before it waits for anything, so what one is told of may be gone, and then the wait goes on.
        Raises `RefusedError`, with the cycle named, if every task that could come needs one that will not be done
        before the party itself goes on.
        """
        waiter = _Waiter(labels, self._waits.begin_any(party, self._backlog(team).obstacles(labels) or ()))
        line = self._lines.setdefault(team, {})
        line[waiter] = None
        end = asyncio.get_running_loop().time() + seconds
        try:
            while True:
                try:
                    async with asyncio.timeout_at(end):
                        await waiter.told.wait()
                except TimeoutError:
                    return None
                if waiter.refusal is not None:
                    raise waiter.refusal
                waiter.told.clear()
                found = await take()
                if found is not None:
                    return found
                # Somebody was faster. Others may have been passed over for this one.
                self.tell(team)
        finally:
            self._waits.end(waiter.ticket)
            del line[waiter]
            if not line:
                self._lines.pop(team, None)
            if waiter.told.is_set():
                self.tell(team)

    def tell(self, team: str) -> None:
        """Something may have become ready: tell as many as there are tasks, those first who came first."""
        line = self._lines.get(team)
        if not line:
            return
        backlog = self._backlog(team)
        for waiter in line:
            self._note(waiter, backlog)
        left = backlog.ready
        for waiter in line:
            if left <= 0:
                return
            if waiter.told.is_set() or backlog.first(waiter.labels) is not None:
                waiter.told.set()
                left -= 1

    def _note(self, waiter: _Waiter, backlog: Backlog) -> None:
        """Whom it waits for now."""
        if waiter.refusal is not None:
            return
        try:
            self._waits.change_any(waiter.ticket, backlog.obstacles(waiter.labels) or ())
        except RefusedError as error:
            waiter.refusal = error
            waiter.told.set()

    def tell_all(self) -> None:
        """As `tell`, for every team."""
        for team in list(self._lines):
            self.tell(team)
