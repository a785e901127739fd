"""The daemon of a shared server and its keepers: how they are started, and who is taken for one."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from corral.adapters.unix_keeper import host
from corral.adapters.unix_keeper.client import KeeperClient
from corral.adapters.unix_keeper.helper import Helper
from corral.adapters.unix_keeper.host import HostKeepers
from corral.domain.errors import CorralError, RefusedError, UnavailableError, WrongUseError
from corral.peer import user_name
from corral.ports import wire
from corral.ports.keeper import PROTOCOL, Hello

ME = user_name(os.getuid())
HELLO = Hello(
    protocol=PROTOCOL, instance="i-1", pid=7, host="h", user=ME, version="0", boot_id="b", containment="process"
)


def helper(script: str, **more: float) -> Helper:
    """One that runs a piece of Python in the place of sudo."""
    return Helper((sys.executable, "-c", script), **more)


def asked(answer: object, note: Path) -> str:
    """Writes down what it was asked for, and answers."""
    return f"import sys; open({str(note)!r}, 'a').write(sys.stdin.read() + chr(10)); print({json.dumps(answer)!r})"


class TestHelper:
    """What comes back of what is asked."""

    def ask(self, one: Helper) -> object:
        return asyncio.run(one.ask("keeper_start", "ann"))

    def test_it_gets_one_object_of_strings(self, tmp_path: Path) -> None:
        note = tmp_path / "asked"
        answer = self.ask(helper(asked({"ok": True, "uid": 5}, note)))
        assert answer == {"ok": True, "uid": 5}
        assert json.loads(note.read_text()) == {"verb": "keeper_start", "user": "ann"}

    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            ("refused", RefusedError),
            ("wrong_use", WrongUseError),
            ("unavailable", UnavailableError),
            ("failed", CorralError),
        ],
    )
    def test_what_it_says_no_to_is_told(self, code: str, kind: type[CorralError], tmp_path: Path) -> None:
        answer = {"ok": False, "error": {"code": code, "message": "ann is nobody", "remedy": ""}}
        with pytest.raises(kind, match="ann is nobody") as caught:
            self.ask(helper(asked(answer, tmp_path / "asked")))
        assert type(caught.value) is kind
        assert caught.value.remedy.startswith("journalctl")
        answer = {"ok": False, "error": {"code": code, "message": "ann is nobody", "remedy": "let her in"}}
        with pytest.raises(kind) as caught:
            self.ask(helper(asked(answer, tmp_path / "asked")))
        assert caught.value.remedy == "let her in"

    @pytest.mark.parametrize("script", ["", "print('[]')", "print('{}')", "print('x' * 100000)"])
    def test_an_answer_that_is_none(self, script: str) -> None:
        with pytest.raises(UnavailableError, match="gave no answer"):
            self.ask(helper("import sys; sys.stdin.read()\n" + script))

    def test_what_sudo_says_is_handed_on(self) -> None:
        with pytest.raises(UnavailableError, match="a password is required"):
            self.ask(helper("import sys; sys.exit('sudo: a password is required')"))

    def test_there_is_no_sudo(self) -> None:
        with pytest.raises(UnavailableError, match="No such file"):
            self.ask(Helper(("/nowhere/sudo",)))

    def test_it_is_not_waited_for_for_ever(self) -> None:
        async def scenario() -> None:
            with pytest.raises(UnavailableError, match="has not answered to keeper_start for ann"):
                await helper("import time; time.sleep(1)", seconds=0.05).ask("keeper_start", "ann")
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))  # it is waited for all the same

        asyncio.run(scenario())

    def test_nobody_waits_for_what_it_does_for_others(self, tmp_path: Path) -> None:
        until = tmp_path / "until"
        one = helper(
            "import json, os, sys, time; user = json.load(sys.stdin)['user']\n"
            f"while user == 'ben' and not os.path.exists({str(until)!r}): time.sleep(0.01)\n"
            "print(json.dumps({'ok': True, 'for': user}))"
        )

        async def scenario() -> None:
            bens = [asyncio.ensure_future(one.ask("keeper_start", "ben")) for _ in range(5)]
            await asyncio.sleep(0)
            try:
                assert await asyncio.wait_for(one.ask("keeper_start", "ann"), 30) == {"ok": True, "for": "ann"}
                assert not any(asking.done() for asking in bens)
            finally:
                until.touch()
                await asyncio.gather(*bens)

        asyncio.run(scenario())


class Scene:
    """A place for keepers, and a keeper of ours there."""

    def __init__(self, directory: Path, hello: Hello = HELLO, *, starts: bool = True) -> None:
        self.keepers = directory / "keepers"
        self.own = self.keepers / str(os.getuid())
        self.hello = hello
        self.started = 0
        self._starts = starts
        self._server: asyncio.Server | None = None
        #: Somebody who had connected has gone again.
        self.parted = asyncio.Event()

    async def ask(self, verb: str, user: str) -> dict[str, object]:
        """The helper."""
        assert (verb, user) == ("keeper_start", ME)
        self.started += 1
        if self._starts:
            await self.serve()
        return {}

    async def serve(self) -> None:
        self.own.mkdir(parents=True, exist_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, str(self.own / "keeper.sock"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = wire.FrameReader(reader)
        try:
            while True:
                frame = await frames.next()
                assert isinstance(frame, wire.Call)
                writer.write(wire.encode(wire.Answer(number=frame.number, value=wire.pack(self.hello))))
        except asyncio.IncompleteReadError:
            writer.close()
            self.parted.set()

    def play(self, act: Callable[[Callable[[], Awaitable[KeeperClient]]], Awaitable[None]]) -> None:
        async def run() -> None:
            one: Helper = self  # type: ignore[assignment]
            keepers = HostKeepers("i-1", one, str(self.keepers))
            try:
                await act(lambda: keepers.connect(ME, lambda _: None, lambda: None))
            finally:
                if self._server is not None:
                    self._server.close()
                # A connection that was just taken gets a task of its own only then.
                while others := asyncio.all_tasks() - {asyncio.current_task()}:
                    await asyncio.gather(*others, return_exceptions=True)

        asyncio.run(run())


def test_one_that_is_there_is_connected_to_and_one_that_is_not_is_started(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    async def scenario(connect: Callable[[], Awaitable[KeeperClient]]) -> None:
        for _ in range(2):
            client = await connect()
            assert client.introduced
            client.close()
        assert scene.started == 1

    scene.play(scenario)


def test_one_that_is_started_and_does_not_listen(tmp_path: Path) -> None:
    async def scenario(connect: Callable[[], Awaitable[KeeperClient]]) -> None:
        with pytest.raises(UnavailableError, match="was started, and cannot be reached"):
            await connect()

    Scene(tmp_path, starts=False).play(scenario)


@pytest.mark.parametrize(
    "change", [{"protocol": PROTOCOL + 1}, {"instance": "i-2"}, {"user": "somebody"}], ids=lambda one: next(iter(one))
)
def test_one_of_another_version_instance_or_user_is_not_taken(tmp_path: Path, change: dict[str, object]) -> None:
    scene = Scene(tmp_path, msgspec.structs.replace(HELLO, **change))

    async def scenario(connect: Callable[[], Awaitable[KeeperClient]]) -> None:
        with pytest.raises(UnavailableError, match="of another version or instance"):
            await connect()

    scene.play(scenario)


def test_a_socket_that_somebody_else_serves_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path)
    monkeypatch.setattr(host, "peer_of", lambda _: (99, os.getuid() + 1))

    async def scenario(connect: Callable[[], Awaitable[KeeperClient]]) -> None:
        await scene.serve()
        with pytest.raises(RefusedError, match="somebody else listens"):
            await connect()
        assert scene.started == 0
        assert f"listens uid {os.getuid() + 1} (pid 99)" in caplog.text
        await asyncio.wait_for(scene.parted.wait(), 10)

    scene.play(scenario)


def test_a_user_that_there_is_not(tmp_path: Path) -> None:
    keepers = HostKeepers("i-1", helper(""), str(tmp_path))
    for name in ("no-such-user", ""):
        with pytest.raises(RefusedError, match="there is no user"):
            asyncio.run(keepers.connect(name, lambda _: None, lambda: None))


def test_what_systemd_says_of_its_jobs_is_in_the_log_and_not_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = "Transaction for corral-keeper.service/start is destructive"

    class Failing(Scene):
        async def ask(self, verb: str, user: str) -> dict[str, object]:
            raise CorralError(f"the helper of this host: {said}", "")

    scene = Failing(tmp_path)

    async def act(connect: Callable[[], Awaitable[KeeperClient]]) -> None:
        with pytest.raises(UnavailableError) as caught:
            await connect()
        assert caught.value.message == f"the keeper of {ME} cannot be started now"
        assert f"user@{os.getuid()}.service" in caught.value.remedy

    scene.play(act)
    assert said in caplog.text
