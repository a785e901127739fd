"""Typing into a pane whose program has ended: refused, and the server with everybody else's agents lives on."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.adapters.procfs import processes as proc
from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.adapters.tmux.keyboard import answer_call, type_into

PATIENCE = 10.0


@pytest.fixture
def play(own_directory: Path) -> Callable[[Callable[[ControlClient], Awaitable[None]]], None]:
    """Plays a scenario with a connection to a tmux server of its own, which it ends."""
    base = ["tmux", "-u", "-S", str(own_directory / "tmux.sock"), "-f", "/dev/null", "-C"]

    def play(scenario: Callable[[ControlClient], Awaitable[None]]) -> None:
        async def act() -> None:
            children = set(proc.children(os.getpid()))
            closed = asyncio.Event()
            client = await ControlClient.open(
                [*base, "new-session", "exec sleep 600"],
                dict(os.environ),
                on_output=lambda *_: None,
                on_pause=lambda _: None,
                on_closed=lambda _: closed.set(),
                on_late_answer=lambda: None,
            )
            try:
                await client.ask(["set-option", "-g", "remain-on-exit", "on"])
                await scenario(client)
            finally:
                if not client.closed:
                    await client.try_many([[["kill-server"]]])
                async with asyncio.timeout(PATIENCE):
                    await closed.wait()
                    while set(proc.children(os.getpid())) - children:  # noqa: ASYNC110 - reaped by callbacks of this loop
                        await asyncio.sleep(0.005)

        asyncio.run(act())

    return play


async def dead_pane(client: ControlClient) -> str:
    """A pane that stays when its program has ended, as every agent's does."""
    ((pane,),) = await client.ask(["new-window", "-d", "-P", "-F", "#{pane_id}", "exec true"])
    async with asyncio.timeout(PATIENCE):
        while (await client.ask(["display-message", "-p", "-t", pane, "#{pane_dead}"]))[0] != ["1"]:  # noqa: ASYNC110 - tmux tells nobody
            await asyncio.sleep(0.01)
    return pane


async def buffers(client: ControlClient) -> list[str]:
    (names,) = await client.ask(["list-buffers"])
    return names


def test_a_text_for_a_pane_that_has_ended_is_refused(
    play: Callable[[Callable[[ControlClient], Awaitable[None]]], None], own_directory: Path
) -> None:
    async def scenario(client: ControlClient) -> None:
        pane = await dead_pane(client)
        with pytest.raises(TmuxRefusedError, match="no reader"):
            await type_into(client, pane, "hello", scratch_dir=str(own_directory), enter=True, pause=0)
        assert await buffers(client) == []

    play(scenario)


def test_an_answer_to_a_launch_shell_that_has_ended_hurts_nobody(
    play: Callable[[Callable[[ControlClient], Awaitable[None]]], None],
) -> None:
    async def scenario(client: ControlClient) -> None:
        await answer_call(client, await dead_pane(client))
        assert await buffers(client) == []

    play(scenario)


def test_a_pane_that_is_gone_is_refused_as_well(
    play: Callable[[Callable[[ControlClient], Awaitable[None]]], None], own_directory: Path
) -> None:
    async def scenario(client: ControlClient) -> None:
        await answer_call(client, "%77")
        with pytest.raises(TmuxRefusedError, match="%77"):
            await type_into(client, "%77", "hello", scratch_dir=str(own_directory), enter=True, pause=0)
        assert await buffers(client) == []

    play(scenario)
