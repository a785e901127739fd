"""The lease of a keyboard, with a real second client that types all the time: nothing of a person's comes between."""

import asyncio
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.adapters.tmux import lease
from corral.adapters.tmux.control import ControlClient
from corral.adapters.tmux.keyboard import paste_into
from corral.adapters.tmux.panes import Pane
from corral.ports.runtime import Session
from tests.support.at_the_keyboard import AtTheKeyboard

pytestmark = pytest.mark.tmux

PATIENCE = 20.0
Scenario = Callable[[ControlClient, Pane, AtTheKeyboard], Awaitable[None]]


@pytest.fixture
def play(own_directory: Path) -> Callable[[Scenario], None]:
    """Plays a scenario with a pane that writes every byte to `got`, and a person who is attached to it."""
    socket = str(own_directory / "tmux.sock")
    base = ["tmux", "-u", "-S", socket, "-f", "/dev/null"]
    got = own_directory / "got"

    def play(scenario: Scenario) -> None:
        async def act() -> None:
            closed = asyncio.Event()
            client = await ControlClient.open(
                [*base, "-C", "new-session", "-s", "hub", "exec sleep 600"],
                dict(os.environ),
                on_output=lambda *_: None,
                on_pause=lambda _: None,
                on_closed=lambda _: closed.set(),
                on_late_answer=lambda: None,
            )
            try:
                program = f"stty raw -echo; printf ready; exec cat > {got}"
                where = "#{pane_id} #{window_id} #{session_id} #{pane_pid}"
                ((line,),) = await client.ask(["new-session", "-d", "-s", "a", "-P", "-F", where, program])
                pane_id, window, session, pid = line.split(" ")
                seen = Session(agent="a", run="r", terminal_pid=int(pid), pid=int(pid))
                pane = Pane(pane_id, window, session, False, seen)
                attach = [*base, "attach-session", "-t", "=a"]
                with AtTheKeyboard(attach, dict(os.environ)) as person:
                    await scenario(client, pane, person)
            finally:
                if not client.closed:
                    await client.try_many([[["kill-server"]]])
                await asyncio.wait_for(closed.wait(), PATIENCE)
                if client._process is not None:
                    client._process.wait()

        asyncio.run(act())

    return play


async def arrives(path: Path, size: int) -> bytes:
    async with asyncio.timeout(PATIENCE):
        while not path.exists() or path.stat().st_size < size:  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)
    return path.read_bytes()


async def left_over(client: ControlClient) -> list[str]:
    """What a lease would leave in the server."""
    options, keys = await client.ask(["show-options", "-g"], ["list-keys"])
    return [line for line in [*options, *keys] if "corral" in line]


def test_keys_that_are_pressed_all_the_time_wait_and_none_is_lost(
    play: Callable[[Scenario], None], own_directory: Path
) -> None:
    pressed: list[bytes] = []

    def type_on(person: AtTheKeyboard, stop: threading.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            # The first key of a lease may be any of these: a letter, one that is no ASCII, or a key with a name.
            keys = ("ü", "a", f"{number};", "€'\"#{x}", "\x1b[A", "\x15", "\r")[number % 7].encode()
            pressed.append(keys)
            person.press(keys)
            time.sleep(0.003)

    async def scenario(client: ControlClient, pane: Pane, person: AtTheKeyboard) -> None:
        with person.meanwhile(type_on):
            for number in range(40):
                taken = await lease.take(client, pane)
                await paste_into(client, pane.pane_id, f"<begin{number:02}", scratch_dir=str(own_directory))
                await asyncio.sleep(0.03)
                await client.ask(["send-keys", "-t", pane.pane_id, "-l", f"end{number:02}>"])
                await lease.give_back(client, pane, taken)
                await asyncio.sleep(0.01)
        typed = b"".join(pressed)
        got = await arrives(own_directory / "got", len(typed) + 40 * len("<begin00end00>"))
        assert re.findall(rb"<begin(\d\d)end(\d\d)>", got) == [(b"%02d" % n, b"%02d" % n) for n in range(40)]
        assert re.sub(rb"<begin\d\dend\d\d>", b"", got) == typed
        assert await left_over(client) == []

    play(scenario)


def test_tmux_ends_a_lease_by_itself_if_nobody_gives_it_back(
    play: Callable[[Scenario], None], own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "LONGEST_LEASE", 3.0)

    async def scenario(client: ControlClient, pane: Pane, person: AtTheKeyboard) -> None:
        await lease.take(client, pane)
        person.press("äbc")
        await asyncio.sleep(0.3)
        file = own_directory / "got"
        assert not file.exists() or file.read_bytes() == b""
        assert await arrives(file, len("äbc".encode())) == "äbc".encode()
        async with asyncio.timeout(PATIENCE):
            while await left_over(client):  # noqa: ASYNC110 - tmux tells nobody
                await asyncio.sleep(0.02)

    play(scenario)


def test_a_timer_of_a_lease_that_was_given_back_ends_no_later_one(
    play: Callable[[Scenario], None], own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(client: ControlClient, pane: Pane, person: AtTheKeyboard) -> None:
        monkeypatch.setattr(lease, "LONGEST_LEASE", 0.5)
        await lease.give_back(client, pane, await lease.take(client, pane))
        monkeypatch.setattr(lease, "LONGEST_LEASE", 60.0)
        taken = await lease.take(client, pane)
        await asyncio.sleep(1.0)  # the timer of the first one is over by now
        person.press("x")
        await asyncio.sleep(0.3)
        file = own_directory / "got"
        assert not file.exists() or file.read_bytes() == b""
        await lease.give_back(client, pane, taken)
        assert await arrives(file, 1) == b"x"

    play(scenario)


def test_a_look_tells_who_sits_there(play: Callable[[Scenario], None], own_directory: Path) -> None:
    async def scenario(client: ControlClient, pane: Pane, person: AtTheKeyboard) -> None:
        seen = await lease.look(client, pane, scratch_dir=str(own_directory))
        assert [(watcher.read_only, watcher.in_command) for watcher in seen.watchers] == [(False, False)]
        assert seen.watchers[0].idle < PATIENCE
        assert any("ready" in line for line in seen.lines)
        person.press("\x02")
        async with asyncio.timeout(PATIENCE):
            while not (await lease.look(client, pane, scratch_dir=str(own_directory))).watchers[0].in_command:  # noqa: ASYNC110 - tmux tells nobody
                await asyncio.sleep(0.02)
        person.press("[")
        async with asyncio.timeout(PATIENCE):
            while not (await lease.look(client, pane, scratch_dir=str(own_directory))).in_mode:  # noqa: ASYNC110 - tmux tells nobody
                await asyncio.sleep(0.02)

    play(scenario)
