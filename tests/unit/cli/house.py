"""The daemon's real server in a thread, at the socket that `corral` looks for, with a fake keeper behind it."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from corral.places import Places
from tests.support.waiting import wait_for
from tests.unit.api.scene import Scene, served
from tests.unit.service.fake_keeper import FakeKeeper, Played

_T = TypeVar("_T")


class House:
    """Serves until the `with` block ends; what happens in it is played by the test."""

    def __init__(self, places: Places, directory: Path) -> None:
        os.makedirs(places.runtime, mode=0o700, exist_ok=True)
        self._socket = places.daemon_socket
        self._directory = directory
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="daemon")
        self._loop: asyncio.AbstractEventLoop
        self._over: asyncio.Event
        self.scene: Scene

    def __enter__(self) -> "House":
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    @property
    def keeper(self) -> FakeKeeper:
        return self.scene.keeper

    def do(self, what: Coroutine[Any, Any, _T]) -> _T:
        """Have something done where the daemon is."""
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(20)

    def played(self) -> Played:
        """The one process, once there is one."""
        wait_for(lambda: self.keeper.played, what="a process")
        return self.keeper.only()

    def asked(self, verb: str) -> list[dict[str, Any]]:
        """What the keeper was asked for by that verb."""
        return [about for name, about in self.keeper.asked if name == verb]

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with served(self._directory, self._socket) as scene:
            self.scene = scene
            self._ready.set()
            await self._over.wait()
