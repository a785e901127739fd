"""Sequences that are sent while they are made: whoever came first is through first."""

import asyncio
from collections.abc import Iterator
from typing import cast

from corral.adapters.tmux import control
from corral.adapters.tmux.control import ControlClient


class _Tmux:
    """A server that takes note of what it is told, and answers in that order when it is asked to."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self.told: list[str] = []
        self._heard = asyncio.Event()
        client.connection_made(cast(asyncio.Transport, self))

    def write(self, data: bytes) -> None:
        self.told += data.decode().splitlines()
        self._heard.set()

    async def heard(self, number: int) -> None:
        """Return when it was told so many."""
        async with asyncio.timeout(10):
            while len(self.told) < number:
                self._heard.clear()
                await self._heard.wait()

    def answer(self, number: int) -> None:
        said = "".join(f"%begin 1 {at} 1\n%end 1 {at} 1\n" for at in range(number))
        self._client.data_received(said.encode())


def _groups(name: str, count: int) -> Iterator[list[list[str]]]:
    return ([["display-message", f"{name}-{number}"]] for number in range(count))


def test_whoever_came_first_is_sent_whole_before_the_next_and_is_through_before_them() -> None:
    async def act() -> None:
        client = ControlClient(lambda *_: None, lambda _: None, lambda _: None, lambda: None)
        tmux = _Tmux(client)
        count = 3 * control._WAVE
        first = asyncio.create_task(client.try_in_waves(_groups("a", count), 10.0, 0.1))
        second = asyncio.create_task(client.try_in_waves(_groups("b", count), 10.0, 0.1))
        await tmux.heard(2 * count)
        assert [line.split("-")[1][-1] for line in tmux.told] == ["a"] * count + ["b"] * count
        tmux.answer(count)
        assert len(await first) == count
        assert not second.done()
        tmux.answer(count)
        assert len(await second) == count

    asyncio.run(act())


def test_the_first_are_on_their_way_while_the_others_are_made() -> None:
    async def act() -> None:
        client = ControlClient(lambda *_: None, lambda _: None, lambda _: None, lambda: None)
        tmux, seen = _Tmux(client), []

        def groups() -> Iterator[list[list[str]]]:
            for group in _groups("a", 2 * control._WAVE):
                seen.append(len(tmux.told))
                yield group

        sending = asyncio.create_task(client.try_in_waves(groups(), 10.0, 0.1))
        await tmux.heard(2 * control._WAVE)
        assert seen == [0] * control._WAVE + [control._WAVE] * control._WAVE
        tmux.answer(2 * control._WAVE)
        await sending

    asyncio.run(act())
