"""Commands that tell people of something, while their team goes down."""

import asyncio
from typing import Any, cast

import pytest

from corral.domain.errors import RefusedError
from corral.keeper.notices import TeamNotices
from corral.ports.merging import GateOrder, GateSeen


class Gates:
    """Runs one command, which ends when it is ended."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.runs, self.over = asyncio.Event(), asyncio.Event()
        self.begins = asyncio.Event()
        self.waited: list[str] = []

    async def start(self, order: GateOrder) -> None:
        await self.begins.wait()
        self.running.add(order.gate)
        self.runs.set()

    async def wait(self, gate: str, *, wait: float, limit: int) -> GateSeen:
        self.waited.append(gate)
        await self.over.wait()
        return GateSeen(running=False, code=0)

    async def end(self) -> list[str]:
        if self.running:
            self.over.set()
        self.running.clear()
        return []


def order(gate: str) -> GateOrder:
    return GateOrder(gate=gate, command="true", directory="/", like={})


def test_one_that_begins_while_the_team_goes_down_is_ended_and_waited_for() -> None:
    async def body() -> None:
        gates = Gates()
        notices = TeamNotices(cast(Any, gates))
        under_way = asyncio.ensure_future(notices.run(order("notice-1"), 30.0))
        await asyncio.sleep(0)
        notices.stop()
        ended = asyncio.ensure_future(notices.ended())
        await asyncio.sleep(0)
        assert not ended.done()
        gates.begins.set()
        await ended
        assert (await under_way).running
        assert (gates.running, gates.waited) == (set(), [])

    asyncio.run(body())


def test_none_begins_in_a_team_that_goes_down_until_it_is_up_again() -> None:
    async def body() -> None:
        gates = Gates()
        gates.begins.set()
        notices = TeamNotices(cast(Any, gates))
        notices.stop()
        with pytest.raises(RefusedError, match="goes down"):
            await notices.run(order("notice-1"), 30.0)
        notices.begin()
        under_way = asyncio.ensure_future(notices.run(order("notice-2"), 30.0))
        await gates.runs.wait()
        await gates.end()
        assert (await under_way).code == 0

    asyncio.run(body())
