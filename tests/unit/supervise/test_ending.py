"""The daemon ends, and with it the keepers that nobody needs."""

import asyncio
from pathlib import Path
from typing import Any

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.errors import UnavailableError
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor


class _Silent:
    """A keeper that gives no answer for as long as not all of them were asked."""

    def __init__(self, everybody: asyncio.Barrier) -> None:
        self._everybody = everybody

    async def hello(self) -> "_Silent":
        return self

    async def shut_down(self, *, force: bool) -> bool:
        assert not force
        await self._everybody.wait()
        raise UnavailableError("it does not answer")


def test_silent_keepers_are_not_waited_for_one_after_the_other(tmp_path: Path) -> None:
    async def act() -> None:
        everybody = asyncio.Barrier(3)

        async def connect(*_: object) -> Any:
            return _Silent(everybody)

        store = await SqliteStore.open(str(tmp_path / "corral.db"))
        supervisor = Supervisor(
            Registry(store, lambda: 0.0, str(tmp_path / "at-rest")), connect, lambda: 0.0, shared=True
        )
        for user in ("ann", "ben", "carl"):
            await supervisor.keepers.of_user(user).open()
        async with asyncio.timeout(5):
            await supervisor.end()
        await store.close()

    asyncio.run(act())
