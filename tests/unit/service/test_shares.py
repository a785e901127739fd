"""What each writes counts in that one's share, whoever it is written for, and leaves the shares of others alone."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from corral.domain import msg as mailboxes
from corral.domain.errors import RefusedError
from corral.domain.records import SUPERVISOR, Who
from corral.domain.waits import Waits
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.msg import Msg
from corral.supervise.registry import Registry
from tests.unit.service.test_ledger import Disk, opened

ANN, BEN = Who(user="ann", uid=1001), Who(user="ben", uid=1002)
BENS_AGENT = Who(user="ben-agents", uid=1003, agent="mill/b")


class Daemon:
    """What of the daemon of a shared server keeps something for people."""

    def __init__(self, disk: Disk) -> None:
        registry = Registry(disk, lambda: 1.0, "/nowhere")
        context = cast(Context, SimpleNamespace(store=disk, registry=registry, now=lambda: 1.0))
        self.disk = disk
        self.ledger = Ledger(disk, lambda user: "ben" if user == "ben-agents" else user)
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
