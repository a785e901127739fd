"""The daemon's link to a keeper: opened when it is needed, opened again when it breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from corral.domain.errors import UnavailableError
from corral.ports.keeper import Hello, Keeper
from corral.ports.reports import Report

_T = TypeVar("_T")
_ATTEMPTS = 3
#: Opens a connection, starting a keeper if there is none: (on_report, on_lost) → keeper.
Connect = Callable[[Callable[[Report], None], Callable[[], None]], Awaitable[Keeper]]


class Link(Protocol):
    """A way to what does as one keeper, connected or not."""

    @property
    def presence(self) -> str:
        """ "present" while connected, else "absent"."""

    async def open(self) -> Keeper:
        """The keeper; raises UnavailableError if none can be had."""

    @property
    def hello(self) -> Hello:
        """Who the keeper said it is; only after `open`."""

    @property
    def connected(self) -> Keeper | None:
        """The keeper if there is a connection now; opens none."""


async def insist(link: Link, act: Callable[[Keeper], Awaitable[_T]]) -> _T:
    """Do something idempotent through a link, and again with the next keeper if one dies meanwhile."""
    for attempt in range(1, _ATTEMPTS + 1):
        keeper = await link.open()
        try:
            return await act(keeper)
        except UnavailableError:
            # Another connection means that the keeper died. The same one means that tmux is silent.
            if attempt == _ATTEMPTS or link.connected is keeper:
                raise
    raise AssertionError("unreachable")


class KeeperLink:
    """One keeper. See `Link`."""

    def __init__(self, connect: Connect, on_report: Callable[[Report], None], on_lost: Callable[[], None]) -> None:
        self._connect = connect
        self._on_report = on_report
        self._on_lost = on_lost
        self._opening = asyncio.Lock()
        self._losses = 0
        self._keeper: Keeper | None = None
        self._hello: Hello | None = None

    @property
    def presence(self) -> str:
        """ "present" while connected, else "absent"."""
        return "present" if self._keeper is not None else "absent"

    async def open(self) -> Keeper:
        """The keeper; raises UnavailableError if none can be had."""
        async with self._opening:
            if self._keeper is None:
                losses = self._losses
                keeper = await self._connect(self._on_report, self._lost)
                self._hello = await keeper.hello()
                if losses != self._losses:
                    raise UnavailableError("the keeper went away as soon as it had come", "its log may tell why")
                self._keeper = keeper
            return self._keeper

    @property
    def hello(self) -> Hello:
        """Who the keeper said it is; only after `open`."""
        assert self._hello is not None
        return self._hello

    @property
    def connected(self) -> Keeper | None:
        """The keeper if there is a connection now; opens none."""
        return self._keeper

    def _lost(self) -> None:
        self._losses += 1
        self._keeper = None
        self._on_lost()
