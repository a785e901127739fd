"""What each writes counts in that one's share, whoever it is written for, and leaves the shares of others alone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from corral.domain import msg as mailboxes
from corral.domain.errors import RefusedError
from corral.domain.kv import Transaction
from corral.domain.records import SUPERVISOR, Team, Who
from corral.domain.waits import Waits
from corral.service import ledger as ledgers
from corral.service.context import Context
from corral.service.kv import Kv
from corral.service.ledger import Ledger
from corral.service.msg import Msg
from corral.service.topics import Limits, Page, Topics
from corral.supervise.registry import Registry
from tests.support.records import TEAM
from tests.unit.service.test_ledger import Disk, opened

ANN, BEN = Who(user="ann", uid=1001), Who(user="ben", uid=1002)
ANNS, BENS = replace(TEAM, name="shop", user="ann"), replace(TEAM, name="mill", user="ben")
BENS_AGENT = Who(user="ben-agents", uid=1003, agent="mill/b")


class Daemon:
    """What of the daemon of a shared server keeps something for people."""

    def __init__(self, disk: Disk) -> None:
        registry = Registry(disk, lambda: 1.0, "/nowhere")
        context = cast(Context, SimpleNamespace(store=disk, registry=registry, now=lambda: 1.0))
        self.disk = disk
        self.ledger = Ledger(disk, lambda user: "ben" if user == "ben-agents" else user)
        self.kv, self.topics = Kv(context, self.ledger), Topics(context, self.ledger)
        self.msg = Msg(context, self.ledger, Waits(), "corral")


@contextlib.asynccontextmanager
async def daemon(directory: Path) -> AsyncIterator[Daemon]:
    disk = await opened(directory)
    one = Daemon(disk)
    await one.ledger.load()
    try:
        yield one
    finally:
        await disk.close()


def play(directory: Path, *acts: Callable[[Daemon], Awaitable[None]]) -> None:
    """One after the other, each with a daemon that was just started."""

    async def run() -> None:
        for act in acts:
            async with daemon(directory) as one:
                await asyncio.wait_for(act(one), 60)

    asyncio.run(run())


def test_mail_counts_for_whoever_sends_it_also_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "HEAVIEST", 4000)

    async def fill(one: Daemon) -> None:
        await one.msg.send(BENS_AGENT, "mill/b", ["mill/b"], "x" * 1000)
        await one.msg.send(BEN, "ben", ["mill/b"], "x" * 1000)

    async def others(one: Daemon) -> None:
        for who, sender in ((BEN, "ben"), (BENS_AGENT, "mill/b")):
            with pytest.raises(RefusedError, match="all messages of ben together"):
                await one.msg.send(who, sender, ["ann"], "x" * 1000)
        await one.msg.send(ANN, "ann", ["mill/b"], "x" * 1000)
        # What Corral tells of somebody's merge counts for that one.
        with pytest.raises(RefusedError, match="all messages of ben together"):
            await one.msg.send(SUPERVISOR, "corral", ["mill/b"], "x" * 1000, user="ben-agents")
        await one.msg.send(SUPERVISOR, "corral", ["shop/a"], "x" * 1000, user="ann")

    play(tmp_path, fill, others)


async def read(one: Daemon, team: Team, after: int = 0) -> list[bytes]:
    """What a topic has."""
    page: Page = await one.topics.read(team, "news", after, Limits(), 0.0)
    return [entry.data for entry in page.entries]


@pytest.mark.parametrize("entries", [True, False])
def test_who_publishes_much_drops_what_that_one_published_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: bool
) -> None:
    if entries:
        monkeypatch.setattr(ledgers, "KEPT_ENTRIES", 20)
        monkeypatch.setattr(ledgers, "_SLACK", 5)
    else:
        monkeypatch.setattr(ledgers, "KEPT_BYTES", 20_000)
        monkeypatch.setattr(ledgers, "_SLACK_BYTES", 5_000)

    async def publish(one: Daemon) -> None:
        for number in range(5):
            await one.topics.publish(ANN, ANNS, "news", b"%d" % number)
        for number in range(100):
            who = (BEN, BENS_AGENT)[number % 2]
            await one.topics.publish(who, BENS, "news", b"x" * 1000)
            if number % 10 == 0:
                await one.kv.transact(who, BENS, Transaction(puts={"k": b"x" * 1000}))

    async def look(one: Daemon) -> None:
        assert await read(one, ANNS) == [b"0", b"1", b"2", b"3", b"4"]
        with pytest.raises(RefusedError, match="not kept any more"):
            await read(one, BENS)
        sizes = await one.disk.log_sizes()
        assert sizes["ann"].entries == 5
        assert sizes["ben"].entries < 26
        kept = await one.disk.log(after=0, team="mill")
        assert [entry.revision for entry in kept] == list(
            range(one.ledger.revision - len(kept) + 1, one.ledger.revision + 1)
        )
        assert await read(one, BENS, kept[0].revision - 1) == [b"x" * 1000] * sum(one.topic != "kv" for one in kept)

    async def look_twice(one: Daemon) -> None:
        await publish(one)
        await look(one)

    play(tmp_path, look_twice, look)


def test_who_writes_into_the_team_of_another_drops_what_that_one_wrote_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "KEPT_ENTRIES", 20)
    monkeypatch.setattr(ledgers, "_SLACK", 5)

    async def act(one: Daemon) -> None:
        bens = [await one.topics.publish(BEN, ANNS, "news", b"ben") for _ in range(3)]
        for _ in range(4):
            await one.topics.publish(ANN, ANNS, "news", b"ann")
        for _ in range(40):
            await one.topics.publish(BEN, BENS, "news", b"x")
        # No gap is passed over, and all that ann wrote is there.
        with pytest.raises(RefusedError, match="not kept any more") as caught:
            await read(one, ANNS, bens[0])
        assert caught.value.remedy.endswith(f"follow from revision {bens[-1]} on")
        assert await read(one, ANNS, bens[-1]) == [b"ann"] * 4

    play(tmp_path, act)
