"""Who only looks whether files are free waits for others too: also for those who came past them since."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.domain.errors import RefusedError
from tests.unit.service.lease_scene import LeaseScene, claim, play


async def granted(scene: LeaseScene) -> None:
    await scene.take(claim("carl", "src/b"))


async def in_line(scene: LeaseScene) -> None:
    await scene.take(claim("dora", "src/b"))
    await scene.in_line(claim("carl", "src/b"))


@pytest.mark.parametrize("comes_past", [granted, in_line])
def test_a_cycle_through_who_only_looks_is_refused(
    tmp_path: Path, comes_past: Callable[[LeaseScene], Awaitable[None]]
) -> None:
    async def act(scene: LeaseScene) -> None:
        await scene.take(claim("ann", "src/a"))
        await scene.take(claim("bob", "lib/x"))
        looks = asyncio.ensure_future(scene.service.until_free(claim("bob", "src/**"), 1000))
        while not len(scene.waits):  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
        await comes_past(scene)
        # carl waits for bob, who waits for carl
        waits = asyncio.ensure_future(scene.take(claim("carl", "lib/x"), 1000))
        (refused,), left = await asyncio.wait({looks, waits}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
        with pytest.raises(RefusedError) as told:
            await refused
        assert told.value.details["cycle"] in (["bob", "carl"], ["carl", "bob"])
        for one in left:
            one.cancel()

    play(tmp_path, act)
