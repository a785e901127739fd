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
from corral.domain import shares
from corral.domain.errors import RefusedError
from corral.domain.kv import Transaction
from corral.domain.records import SUPERVISOR, Team, Who
from corral.domain.task_records import NewTask
from corral.domain.waits import Waits
from corral.service import ledger as ledgers
from corral.service.context import Context
from corral.service.kv import Kv
from corral.service.ledger import Ledger
from corral.service.msg import Msg
from corral.service.ownership import one_person
from corral.service.sends import Sends
from corral.service.shares import Shares
from corral.service.tasks import Tasks, Wanted
from corral.service.topics import Limits, Page, Topics
from corral.supervise.registry import Registry
from tests.support.records import AGENT, TEAM
from tests.unit.service.test_ledger import Disk, opened

ANN, BEN = Who(user="ann", uid=1001), Who(user="ben", uid=1002)
ANNS, BENS = replace(TEAM, name="shop", user="ann"), replace(TEAM, name="mill", user="ben")
BENS_AGENT = Who(user="ben-agents", uid=1003, agent="mill/b")
#: Nobody types into it here.
BENS_PAUSED = replace(AGENT, team="mill", name="p", user="ben")


class Daemon:
    """What of the daemon of a shared server keeps something for people."""

    def __init__(self, disk: Disk) -> None:
        registry = Registry(disk, lambda: 1.0, "/nowhere")
        context = cast(Context, SimpleNamespace(store=disk, registry=registry, now=lambda: 1.0))
        self.disk = disk
        self.ledger = Ledger(disk, Shares(lambda user: "ben" if user == "ben-agents" else user))
        self.kv, self.topics = Kv(context, self.ledger), Topics(context, self.ledger)
        self.sends = Sends(context, self.ledger)
        self.tasks = Tasks(context, self.ledger, Waits())
        self.msg = Msg(context, self.ledger, Waits(), "corral")


@contextlib.asynccontextmanager
async def daemon(directory: Path) -> AsyncIterator[Daemon]:
    disk = await opened(directory)
    one = Daemon(disk)
    await one.ledger.load()
    try:
        yield one
    finally:
        one.tasks.end()
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


def put(key: str, size: int) -> Transaction:
    return Transaction(puts={key: b"x" * size})


def test_what_is_kept_for_a_person_has_one_share_in_all_teams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "BYTES", 10_000)
    other = replace(BENS, name="mill-2")

    async def fill(one: Daemon) -> None:
        await one.kv.transact(BEN, BENS, put("k", 2000))
        await one.kv.transact(BENS_AGENT, other, put("k", 2000))
        await one.tasks.add(BENS_AGENT, BENS, NewTask(title="x", body="x" * 1000))
        await one.msg.send(BEN, "ben", ["mill/b"], "x" * 1000)
        await one.sends.send(BEN, BENS_PAUSED, b"x" * 1000, enter=True)

    async def look(one: Daemon) -> None:
        for refused in (
            one.kv.transact(BEN, other, put("k2", 1000)),
            one.tasks.add(BEN, other, NewTask(title="x", body="x" * 500)),
            one.msg.send(BENS_AGENT, "mill/b", ["ann"], "x" * 1000),
            one.sends.send(BENS_AGENT, BENS_PAUSED, b"x" * 1000, enter=True),
        ):
            with pytest.raises(RefusedError, match="messages, values and tasks of ben have 9"):
                await refused
        # Nobody else is short of anything, also in the same team; and what is there can be replaced, and goes.
        await one.kv.transact(ANN, BENS, put("anns", 5000))
        await one.kv.transact(BEN, BENS, put("k", 2000))
        await one.kv.transact(ANN, BENS, put("k", 2000))
        await one.tasks.add(BEN, other, NewTask(title="x", body="x" * 500))
        with pytest.raises(RefusedError, match="of ann have 7"):
            await one.kv.transact(ANN, ANNS, put("k", 3000))

    play(tmp_path, fill, look)


def test_what_is_not_kept_any_more_counts_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "BYTES", 10_000)

    async def act(one: Daemon) -> None:
        for _ in range(5):
            await one.kv.transact(BEN, BENS, put("k", 9000))
            await one.kv.transact(BEN, BENS, Transaction(drops=["k"]))
            task, _ = await one.tasks.add(BEN, BENS, NewTask(title="x", body="x" * 8000))
            await one.tasks.remove(BEN, BENS, task, force=True)
            message = await one.msg.send(BEN, "ben", ["mill/b"], "x" * 9000)
            await one.msg.ack(BENS_AGENT, "mill/b", message.number)

    play(tmp_path, act)


def test_notes_of_a_task_count_and_to_finish_it_is_never_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "BYTES", 2000)

    async def act(one: Daemon) -> None:
        await one.tasks.add(BEN, BENS, NewTask(title="x"))
        claimed = (await one.tasks.claim(BEN, BENS, Wanted())).task
        await one.tasks.renew(BEN, BENS, claimed.id, claimed.token, note="n" * 900)
        for say in (one.tasks.renew, one.tasks.fail, one.tasks.release):
            with pytest.raises(RefusedError, match="tasks of ben have 1925 bytes"):
                await say(BEN, BENS, claimed.id, claimed.token, note="n" * 900)
        await one.tasks.renew(BEN, BENS, claimed.id, claimed.token)
        done = await one.tasks.done(BEN, BENS, claimed.id, claimed.token, result="r" * 900, note="n" * 900)
        assert done.state == "done"

    play(tmp_path, act)


def test_where_all_is_one_persons_there_are_no_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "BYTES", 100)

    async def act(one: Daemon) -> None:
        one.ledger.shares.person_of = one_person
        await one.kv.transact(BEN, BENS, put("k", 2000))
        await one.msg.send(BEN, "ben", ["mill/b"], "x" * 3000)
        await one.tasks.add(BEN, BENS, NewTask(title="x", body="x" * 1000))

    play(tmp_path, act)
