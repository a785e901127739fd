"""A team's name on a shared server is its first owner's, and stays that while nothing of it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.errors import RefusedError
from corral.ports.store import Change
from corral.service.team_names import must_be_of, owner_of, taken
from tests.support.records import PERSON


def play(directory: Path, act: Callable[[SqliteStore], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        try:
            await act(store)
        finally:
            await store.close()

    asyncio.run(run())


def test_a_name_that_nobody_had_is_free(tmp_path: Path) -> None:
    async def act(store: SqliteStore) -> None:
        assert await owner_of(store, "shop") == ""
        await must_be_of(store, "shop", "ann")

    play(tmp_path, act)


def test_a_name_that_somebody_had_is_theirs_also_for_the_next_daemon(tmp_path: Path) -> None:
    async def take(store: SqliteStore) -> None:
        await store.commit(Change(who=PERSON, time=0.0, put_items=taken("shop", "ann")))

    async def look(store: SqliteStore) -> None:
        await must_be_of(store, "shop", "ann")
        with pytest.raises(RefusedError, match="the name shop is ann's") as refused:
            await must_be_of(store, "shop", "ben")
        assert refused.value.details == {"holder": "ann"}
        await must_be_of(store, "mill", "ben")

    play(tmp_path, take)
    play(tmp_path, look)


def test_where_there_is_one_person_names_are_nobodys() -> None:
    assert taken("shop", "") == ()
