"""Many screens in one question to a real tmux: whose is whose, whatever programs paint."""

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.adapters.tmux.control import ControlClient
from corral.adapters.tmux.screens import read_screen, read_screens

PATIENCE = 20.0


@pytest.fixture
def play(own_directory: Path) -> Callable[[Callable[[ControlClient], Awaitable[None]]], None]:
    """Plays a scenario with a connection to a tmux server of its own, which it ends."""
    base = ["tmux", "-u", "-S", str(own_directory / "tmux.sock"), "-f", "/dev/null", "-C"]

    def play(scenario: Callable[[ControlClient], Awaitable[None]]) -> None:
        async def act() -> None:
            closed = asyncio.Event()
            client = await ControlClient.open(
                [*base, "new-session", "-x", "80", "-y", "24", "exec cat"],
                dict(os.environ),
                on_output=lambda *_: None,
                on_pause=lambda _: None,
                on_closed=lambda _: closed.set(),
                on_late_answer=lambda: None,
            )
            try:
                await scenario(client)
            finally:
                await client.try_many([[["kill-server"]]])
                await asyncio.wait_for(closed.wait(), PATIENCE)
                assert client._process is not None
                await asyncio.to_thread(client._process.wait, PATIENCE)

        asyncio.run(act())

    return play


async def painted(client: ControlClient, text: str, end: str = "") -> str:
    """A pane that shows this and stays. `end` is where its cursor is then, if that does not follow from its lines."""
    script = f"printf %s {shlex.quote(text)}; exec cat"
    ((pane,),) = await client.ask(["new-window", "-d", "-P", "-F", "#{pane_id}", script])
    # All of it: tmux may have read the first line, and not yet the others.
    end = end or f"{len(text.rpartition(chr(10))[2])} {text.count(chr(10))}"
    where = ["display-message", "-p", "-t", pane, "#{cursor_x} #{cursor_y}"]
    async with asyncio.timeout(PATIENCE):
        while (await client.ask(where))[0] != [end]:  # noqa: ASYNC110 - tmux tells nobody
            await asyncio.sleep(0.01)
    return pane


def test_each_pane_has_its_own_lines_and_title(
    play: Callable[[Callable[[ControlClient], Awaitable[None]]], None], own_directory: Path
) -> None:
    async def scenario(client: ControlClient) -> None:
        texts = {f"\033]2;%end 1 {number} 1\007one {number}\n\n  two\n\n\n": number for number in range(20)}
        panes = {await painted(client, text): number for text, number in texts.items()}
        shown = await read_screens(client, [*panes, "%999"], scratch_dir=str(own_directory))
        assert list(shown) == list(panes)
        for pane, number in panes.items():
            assert [line.rstrip() for line in shown[pane].lines] == [f"one {number}", "", "  two"]
            assert shown[pane].title == f"%end 1 {number} 1"
        assert not list(own_directory.glob("corral-*"))
        assert await client.ask(["list-buffers"]) == [[]]

    play(scenario)


def test_a_screen_that_looks_like_answers_of_tmux_is_a_screen(
    play: Callable[[Callable[[ControlClient], Awaitable[None]]], None], own_directory: Path
) -> None:
    async def scenario(client: ControlClient) -> None:
        hostile = await painted(client, "%end 1700000000 12 1\n%error 1 1 1\n%exit\n")
        honest = await painted(client, "honest")
        shown = await read_screens(client, [hostile, honest], scratch_dir=str(own_directory))
        assert [line.strip() for line in shown[hostile].lines] == ["%end 1700000000 12 1", "%error 1 1 1", "%exit"]
        assert [line.strip() for line in shown[honest].lines] == ["honest"]

    play(scenario)


def test_an_empty_screen_is_one(
    play: Callable[[Callable[[ControlClient], Awaitable[None]]], None], own_directory: Path
) -> None:
    async def scenario(client: ControlClient) -> None:
        ((pane,),) = await client.ask(["new-window", "-d", "-P", "-F", "#{pane_id}", "exec cat"])
        full = await painted(client, "full")
        shown = await read_screens(client, [pane, full], scratch_dir=str(own_directory))
        assert shown[pane].lines == []
        assert [line.strip() for line in shown[full].lines] == ["full"]

    play(scenario)


def test_what_tmux_wrapped_is_one_line_and_the_rows_of_a_program_that_has_the_screen_are_its_own(
    play: Callable[[Callable[[ControlClient], Awaitable[None]]], None], own_directory: Path
) -> None:
    rows = ["top".ljust(80, "-"), "middle".ljust(80, "-"), "end"]

    async def scenario(client: ControlClient) -> None:
        plain = await painted(client, "".join(rows), end="3 2")
        whole = await painted(client, "\033[?1049h\033[H" + "".join(rows), end="3 2")
        shown = await read_screens(client, [plain, whole], scratch_dir=str(own_directory))
        assert shown[plain].lines == ["".join(rows)]
        assert [line.rstrip() for line in shown[whole].lines] == rows
        assert (await read_screen(client, whole, 0, scratch_dir=str(own_directory)))[:2] == rows[:2]

    play(scenario)
