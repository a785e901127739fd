"""A team's name on a shared server is its first owner's, and stays that while nothing of it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.errors import RefusedError
from corral.service.team_names import TeamNames
from tests.support.records import PERSON


def play(directory: Path, act: Callable[[TeamNames], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        try:
            await act(TeamNames(cast("Any", SimpleNamespace(store=store, now=lambda: 0.0))))
        finally:
            await store.close()

    asyncio.run(run())


def test_a_name_that_nobody_had_is_free(tmp_path: Path) -> None:
    async def act(names: TeamNames) -> None:
        assert await names.owner("shop") == ""
        await names.must_be_of("shop", "ann")

    play(tmp_path, act)


def test_a_name_that_somebody_had_is_theirs_also_for_the_next_daemon(tmp_path: Path) -> None:
    async def take(names: TeamNames) -> None:
        await names.take(PERSON, "shop", "ann")

    async def look(names: TeamNames) -> None:
        await names.must_be_of("shop", "ann")
        with pytest.raises(RefusedError, match="the name shop is ann's") as refused:
            await names.must_be_of("shop", "ben")
        assert refused.value.details == {"holder": "ann"}
        await names.must_be_of("mill", "ben")

    play(tmp_path, take)
    play(tmp_path, look)
