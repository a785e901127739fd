"""A keeper that says too much is hung up on, and not called again for a while; one that works never is."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.adapters.unix_keeper.client import KeeperClient
from corral.domain.allowance import Allowance
from corral.domain.errors import RefusedError, UnavailableError
from corral.ports import wire
from corral.ports.keeper import PROTOCOL, Hello, Keeper
from corral.ports.reports import ActivityChanged, Degraded, ProcessCount, ProcessEnded, Report, ServerChanged
from corral.ports.runs import ExitStatus
from corral.supervise import floods
from corral.supervise.floods import CUT_OFF_SECONDS, Floods
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM

COUNT = ProcessCount(team="shop", agent="a", running=1)
DEGRADED = Degraded(team="shop", agent="a", why="no room")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def told(some: Floods, report: Report, *, believed: bool = True) -> int:
    """How many of these are heard at once, before the keeper is hung up on."""
    for number in range(100_000):
        try:
            some.told("ann", report, believed=believed)
        except RefusedError:
            return number
    return 100_000


def test_an_allowance_is_used_up_and_comes_back() -> None:
    one = Allowance(at_once=10, per_second=2)
    assert [one.take(0.0) for _ in range(11)] == [True] * 10 + [False]
    assert one.take(1.0, 1.0)
    assert not one.take(1.0, 5.0)
    assert one.take(60.0, 10.0)


def test_what_comes_to_be_written_is_dearer_and_dearer_by_its_size() -> None:
    counts = [
        told(Floods(Clock()), COUNT),
        told(Floods(Clock()), DEGRADED),
        told(Floods(Clock()), replace_why(DEGRADED, 100_000)),
        told(Floods(Clock()), ProcessEnded(team="shop", agent="a", process="p" * 10_000, exit=ExitStatus(code=0))),
        told(Floods(Clock()), COUNT, believed=False),
    ]
    assert counts[0] > counts[1] > counts[3] > counts[2] > 0
    assert counts[4] < counts[0]


def replace_why(report: Degraded, size: int) -> Degraded:
    return Degraded(team=report.team, agent=report.agent, why="x" * size)


def test_a_keeper_that_works_is_always_heard() -> None:
    """A hundred agents whose screens change all the time, and which run a hundred commands a second."""
    clock = Clock()
    some = Floods(clock)
    busy = ActivityChanged(team="shop", agent="a", run="r", activity="working", at=0.0)
    ended = ProcessEnded(team="shop", agent="a", process="p" * 12, exit=ExitStatus(code=0))
    for _ in range(300):
        clock.now += 1.0
        for _ in range(100):
            for report in (busy, busy, busy, COUNT, COUNT, ended):
                some.told("ann", report, believed=True)
    some.check("ann")


def test_one_that_is_hung_up_on_is_called_again_after_a_while() -> None:
    clock = Clock()
    some = Floods(clock)
    told(some, DEGRADED)
    assert [some.news("ann"), some.news("ann")] == ["it reports more than any keeper has to say", ""]
    assert not some.lost("ann"), "it was hung up on"
    with pytest.raises(UnavailableError, match="ann is not listened to for 60 s more"):
        some.check("ann")
    some.check("ben")
    clock.now += CUT_OFF_SECONDS + 1
    some.check("ann")
    some.told("ann", DEGRADED, believed=True)


def test_a_connection_that_breaks_again_and_again_is_not_made_again() -> None:
    clock = Clock()
    some = Floods(clock)
    assert {(some.lost("ann"), some.news("ann")) for _ in range(20)} == {(True, "")}
    assert (some.lost("ann"), some.news("ann")) == (True, "its connection breaks again and again")
    with pytest.raises(UnavailableError):
        some.check("ann")


class Flooder:
    """A process in the place of a keeper: it says who it is, and then `says` something, again and again."""

    def __init__(self, says: bytes, *, at_once: bool = False) -> None:
        self._says = says
        #: Before it has said who it is.
        self._at_once = at_once
        self.calls = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        call = await wire.FrameReader(reader).next()
        assert isinstance(call, wire.Call)
        try:
            while self._at_once:
                writer.write(self._says)
                await writer.drain()
            writer.write(wire.encode(wire.Answer(number=call.number, value=wire.pack(hello("ann")))))
            second = await wire.FrameReader(reader).next()
            assert isinstance(second, wire.Call)
            writer.write(wire.encode(wire.Answer(number=second.number, value=wire.pack(hello("ann")))))
            while True:
                writer.write(self._says)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()


def hello(user: str) -> Hello:
    return Hello(
        protocol=PROTOCOL,
        instance="i",
        pid=os.getpid(),
        host="h",
        user=user,
        version="0",
        boot_id="b",
        containment="process",
    )


class Lost:
    """What is told of keepers that are lost."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.came = asyncio.Event()

    def __call__(self, user: str, why: str) -> None:
        self.told.append((user, why))
        self.came.set()


Act = Callable[[Keepers, Flooder, Lost, list[Report]], Awaitable[None]]


def flooded(directory: Path, says: bytes, act: Act, *, at_once: bool = False) -> None:
    """The keepers of a daemon, of which ann's floods."""

    async def run() -> None:
        path, flooder = str(directory / "k.sock"), Flooder(says, at_once=at_once)
        server = await asyncio.start_unix_server(flooder.serve, path)
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
        await registry.commit(PERSON, teams=[replace(TEAM, user="ann")], agents=[AGENT])
        lost = Lost()
        heard: list[Report] = []
        clients: list[KeeperClient] = []

        async def connect(_: str, on_report: Callable[[Report], None], on_lost: Callable[[], None]) -> Keeper:
            client = await KeeperClient.connect(path, on_report, on_lost)
            await client.hello()
            client.introduced = True
            clients.append(client)
            return client

        keepers = Keepers(registry, connect, heard.append, lost, shared=True)
        try:
            await asyncio.wait_for(act(keepers, flooder, lost, heard), 60)
        finally:
            for client in clients:
                client.close()
            server.close()
            await store.close()

    asyncio.run(run())


def frame(report: Report) -> bytes:
    return wire.encode(wire.Told(report=report))


async def opened(keepers: Keepers, lost: Lost) -> str:
    """Call the keeper, and wait until the connection is lost; why it is not called, if it is not."""
    try:
        await keepers.of("shop").open()
    except UnavailableError as error:
        if "not listened to" in error.message:
            return error.message
        # It was lost before it was all there.
    await asyncio.wait_for(lost.came.wait(), 30)
    return ""


@pytest.mark.parametrize(
    "report",
    [
        DEGRADED,
        COUNT,
        ServerChanged(team="shop", presence="unknown"),
        Degraded(team="shop", agent="nobody", why=""),
        Degraded(team="another's", agent="a", why=""),
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_who_floods_is_hung_up_on_and_others_have_their_turn(
    own_directory: Path, report: Report, at_once: bool
) -> None:
    async def act(keepers: Keepers, flooder: Flooder, lost: Lost, heard: list[Report]) -> None:
        assert await opened(keepers, lost) == ""  # this very task has its turn, while it is flooded
        assert lost.told == [("ann", "it reports more than any keeper has to say")]
        assert len(heard) <= floods._REPORTS[0] + 5 * floods._REPORTS[1]
        assert "not listened to" in await opened(keepers, lost)
        assert flooder.calls == 1

    flooded(own_directory, frame(report) * 100, act, at_once=at_once)


@pytest.mark.parametrize(
    "says",
    [
        frame(replace_why(DEGRADED, wire.MAX_REPORT)),
        wire.encode(wire.Answer(number=1, value=wire.pack(None))),
        wire.encode(wire.Answer(number=99, value=wire.pack(None))),
        wire.encode(wire.Call(number=1, verb="hello", arguments=wire.pack({}))),
    ],
)
def test_what_no_keeper_would_say_ends_the_connection(own_directory: Path, says: bytes) -> None:
    async def act(keepers: Keepers, flooder: Flooder, lost: Lost, heard: list[Report]) -> None:
        for _ in range(30):
            lost.came.clear()
            if await opened(keepers, lost):
                break
        assert heard == []
        assert flooder.calls == 21, "it is not called for ever"

    flooded(own_directory, says, act)
