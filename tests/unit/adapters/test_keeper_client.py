"""The daemon's side of the wire to a keeper: how long it waits, and what it says when nobody answers."""

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.adapters.unix_keeper import calling, client, patience
from corral.adapters.unix_keeper.client import KeeperClient
from corral.client import wire as command_line
from corral.domain.errors import RefusedError, UnavailableError
from corral.ports import wire
from corral.ports.runs import Ended
from corral.service import reaching

Reply = Callable[[wire.Call, asyncio.StreamWriter], None]


def _answer(call: wire.Call, writer: asyncio.StreamWriter, value: object) -> None:
    writer.write(wire.encode(wire.Answer(number=call.number, value=wire.pack(value))))


class Scene:
    """A keeper that answers as `reply` says, and a client of it."""

    def __init__(self, directory: Path, reply: Reply) -> None:
        self.asked: list[str] = []
        self.lost = False
        self._path = str(directory / "k.sock")
        self._reply = reply

    def play(self, act: Callable[[KeeperClient], Awaitable[None]]) -> None:
        asyncio.run(self._play(act))

    async def _play(self, act: Callable[[KeeperClient], Awaitable[None]]) -> None:
        server = await asyncio.start_unix_server(self._connected, self._path)
        keeper = await KeeperClient.connect(self._path, lambda _: None, self._note_loss)
        keeper.introduced = True
        try:
            await act(keeper)
        finally:
            keeper.close()
            server.close()
            await asyncio.sleep(0.01)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = wire.FrameReader(reader)
        try:
            while True:
                frame = await frames.next()
                assert isinstance(frame, wire.Call)
                self.asked.append(frame.verb)
                self._reply(frame, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _note_loss(self) -> None:
        self.lost = True


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(patience, "SIGN_SECONDS", 0.05)
    monkeypatch.setattr(patience, "STILL_SILENT_SECONDS", 0.01)


@pytest.mark.parametrize(("user", "named"), [("", "the keeper (pid "), ("ben", "the keeper of ben (pid ")])
def test_where_there_are_several_it_is_said_whose_keeper_is_silent(own_directory: Path, user: str, named: str) -> None:
    async def act() -> None:
        path = str(own_directory / "k.sock")
        callers: list[asyncio.StreamWriter] = []
        server = await asyncio.start_unix_server(lambda _, writer: callers.append(writer), path)
        reader, writer = await asyncio.open_unix_connection(path)
        keeper = KeeperClient(reader, writer, lambda _: None, lambda: None, user)
        with pytest.raises(UnavailableError) as caught:
            await asyncio.wait_for(keeper.inventory("shop"), 5)
        assert caught.value.message.startswith(named)
        keeper.close()
        for one in callers:
            one.close()
        server.close()
        await asyncio.sleep(0.01)

    asyncio.run(act())


def test_what_is_answered_in_one_piece_fails_while_the_command_still_waits() -> None:
    for call in (calling.SEND_SECONDS, calling.QUICK_SECONDS):
        assert reaching.OPEN_SECONDS + call < command_line.ANSWER_SECONDS


def test_a_keeper_without_a_sign_of_life_is_named_and_not_waited_for_however_long_the_work_may_take(
    own_directory: Path,
) -> None:
    async def act(keeper: KeeperClient) -> None:
        for call in (
            keeper.stop("shop", {"r": "a"}, 600.0, spare=False),
            keeper.typing_paste("shop", "r", "m", "hello", enter=True, last=False),
            keeper.inventory("shop"),
            keeper.take_down("shop", 600.0),
        ):
            with pytest.raises(UnavailableError) as caught:
                await asyncio.wait_for(call, 5)
            assert f"the keeper (pid {os.getpid()})" in caught.value.message
            assert "kill -CONT" in caught.value.remedy

    scene = Scene(own_directory, lambda call, writer: None)
    scene.play(act)
    # Asked for a sign of life once: what comes after is known to meet the same silence.
    assert scene.asked == ["stop", "hello", "typing_paste", "inventory", "take_down"]


def test_a_keeper_that_gives_signs_of_life_is_waited_for(own_directory: Path) -> None:
    waiting: list[wire.Call] = []

    def reply(call: wire.Call, writer: asyncio.StreamWriter) -> None:
        if call.verb == "stop":
            waiting.append(call)
        else:
            _answer(call, writer, None)
            if scene.asked.count("hello") == 3:
                _answer(waiting[0], writer, Ended(killed=7))

    async def act(keeper: KeeperClient) -> None:
        ended = await asyncio.wait_for(keeper.stop("shop", {"r": "a"}, 5.0, spare=False), 5)
        assert ended.killed == 7

    scene = Scene(own_directory, reply)
    scene.play(act)


def test_a_keeper_that_is_heard_of_again_is_waited_for_again(own_directory: Path) -> None:
    def reply(call: wire.Call, writer: asyncio.StreamWriter) -> None:
        if call.verb == "census":
            loop = asyncio.get_running_loop()
            loop.call_later(0.03, _answer, call, writer, [])  # more than a silent one would get

    async def act(keeper: KeeperClient) -> None:
        with pytest.raises(UnavailableError):
            await keeper.screen("shop", "r")
        with pytest.raises(UnavailableError):
            await keeper.census("shop")
        await asyncio.sleep(0.05)
        assert await keeper.census("shop") == []

    Scene(own_directory, reply).play(act)


def test_a_call_that_a_living_keeper_does_not_answer_ends_too(
    own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SEND_SECONDS", 0.3)

    def reply(call: wire.Call, writer: asyncio.StreamWriter) -> None:
        if call.verb == "hello":
            _answer(call, writer, None)

    async def act(keeper: KeeperClient) -> None:
        with pytest.raises(UnavailableError, match="is alive, and has not answered file_history"):
            await asyncio.wait_for(keeper.file_history(repo="/x", path=b"f", workspaces=[], limit=1, merges=[]), 5)

    Scene(own_directory, reply).play(act)


def test_somebody_who_follows_a_log_is_not_asked_for_signs_of_life(own_directory: Path) -> None:
    async def act(keeper: KeeperClient) -> None:
        page = keeper.read_log(team="shop", agent="a", after=0, lines=None, since=None, wait=True)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(page, 0.3)

    scene = Scene(own_directory, lambda call, writer: None)
    scene.play(act)
    assert scene.asked == ["read_log"]


@pytest.mark.parametrize("agrees", [True, False])
def test_a_keeper_that_goes_as_it_was_asked_to_is_not_lost(own_directory: Path, agrees: bool) -> None:
    def reply(call: wire.Call, writer: asyncio.StreamWriter) -> None:
        _answer(call, writer, agrees)
        asyncio.get_running_loop().call_later(0 if agrees else 0.02, writer.close)  # refused, and then died

    async def act(keeper: KeeperClient) -> None:
        assert await keeper.shut_down(force=False) is agrees
        await asyncio.sleep(0.1)
        assert keeper.closed

    scene = Scene(own_directory, reply)
    scene.play(act)
    assert scene.lost is not agrees


def test_a_keeper_that_is_killed_as_one_comes_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def killed(_: str) -> None:
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")

    monkeypatch.setattr(asyncio, "open_unix_connection", killed)
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(KeeperClient.connect("/nowhere", lambda _: None, lambda: None))


@pytest.mark.parametrize("value", [{"no": "list"}, [{"process": 5}], [[]], b"\xff"])
def test_a_keeper_that_answers_with_nonsense_is_hung_up_on(own_directory: Path, value: object) -> None:
    async def act(keeper: KeeperClient) -> None:
        with pytest.raises(UnavailableError, match="answered processes with what cannot be understood"):
            await keeper.processes("shop", "")
        assert keeper.closed
        assert scene.lost

    scene = Scene(own_directory, lambda call, writer: _answer(call, writer, value))
    scene.play(act)


def test_an_error_says_whose_keeper_it_is_the_word_of_and_cannot_break_the_connection(own_directory: Path) -> None:
    error: dict[str, object] = {"code": "refused", "message": "no", "remedy": "do", "self": 1}

    def refuse(call: wire.Call, writer: asyncio.StreamWriter) -> None:
        writer.write(wire.encode(wire.Failure(number=call.number, error=error)))

    async def act(keeper: KeeperClient) -> None:
        keeper._user = "ben"
        with pytest.raises(RefusedError, match="no") as raised:
            await keeper.processes("shop", "")
        assert raised.value.said_by == "ben"
        assert not keeper.closed

    Scene(own_directory, refuse).play(act)
