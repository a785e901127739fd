"""The use cases of leases on a disk of their own, which can be full, or slow."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from corral.domain.lease_model import EXCLUSIVE, Claim, Party
from corral.domain.path_patterns import parse
from corral.domain.waits import Waits
from corral.places import Places
from corral.ports.keeper import Keeper
from corral.service.context import Context
from corral.service.leases import Held, LeaseService
from corral.service.ledger import Ledger
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.service.fake_keeper import FakeKeeper
from tests.unit.service.test_ledger import Disk, opened


def claim(party: str, *patterns: str, realm: str = "/r", run: str = "", ttl: float = 1000.0) -> Claim:
    read = tuple(map(parse, patterns))
    return Claim(realm=realm, patterns=read, mode=EXCLUSIVE, party=Party(party, run), ttl=ttl)


@dataclass
class LeaseScene:
    """A daemon's leases, with the agent `shop/a`."""

    disk: Disk
    registry: Registry
    service: LeaseService
    waits: Waits

    async def take(self, wanted: Claim, wait: float = 0) -> Held:
        return await self.service.acquire(PERSON, wanted, wait)

    async def in_line(self, wanted: Claim, wait: float = 1000) -> "asyncio.Task[Held]":
        """Have somebody wait; they do when this returns."""
        before, waiting = len(self.waits), asyncio.ensure_future(self.take(wanted, wait))
        while len(self.waits) == before:
            assert not waiting.done(), waiting
            await asyncio.sleep(0)
        return waiting

    async def release(self, held: Held) -> None:
        await self.service.release(PERSON, held.lease.lease, held.lease.claim.party.name, None)


def play(directory: Path, act: Callable[[LeaseScene], Awaitable[None]]) -> None:
    """Do something with the leases of a daemon."""

    async def run() -> None:
        disk = await opened(directory)
        registry = Registry(disk, lambda: 0.0, str(directory / "at-rest"))
        await registry.commit(PERSON, teams=[TEAM], agents=[AGENT])

        async def connect(*_: object) -> Keeper:
            return cast("Keeper", FakeKeeper())

        places = Places(str(directory), str(directory))
        supervisor = Supervisor(registry, connect, lambda: 0.0)
        context = Context(registry=registry, supervisor=supervisor, store=disk, places=places, now=lambda: 0.0)
        ledger, waits = Ledger(disk), Waits()
        service = LeaseService(context, ledger, waits)
        await ledger.load()
        await asyncio.wait_for(act(LeaseScene(disk, registry, service, waits)), 60)
        await disk.close()

    asyncio.run(run())
