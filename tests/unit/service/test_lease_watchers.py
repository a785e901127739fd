"""Those who wait to hear that files are free hear of it, whatever is being compared of other files."""

import asyncio

from corral.domain.lease_comparing import Comparing
from corral.domain.lease_model import EXCLUSIVE, Claim, Party
from corral.domain.leases import Leases
from corral.domain.path_patterns import parse
from corral.domain.waits import Waits
from corral.service.lease_watchers import LeaseWatchers


def claim(party: str, realm: str) -> Claim:
    return Claim(realm=realm, patterns=(parse("f"),), mode=EXCLUSIVE, party=Party(party), ttl=10.0)


def test_nobody_waits_for_what_is_compared_of_other_files() -> None:
    async def act() -> None:
        leases, go_on = Leases(), asyncio.Event()

        def compared(wanted: Claim) -> Comparing:
            found = leases.comparing(wanted)
            found.all()
            return found

        async def compare(wanted: Claim) -> Comparing:
            if wanted.realm == "/large":
                await go_on.wait()
            return compared(wanted)

        watchers = LeaseWatchers(Waits(), compare, lambda: leases, lambda error, _: error)
        held = [
            leases.grant(claim("ann", realm), number, 0.0, 0.0) for number, realm in enumerate(("/large", "/small"))
        ]
        large, small = (watchers.begin(compared(claim("bob", realm))) for realm in ("/large", "/small"))
        for lease in held:
            leases.release(lease.lease, "ann")
        watchers.tell()
        async with asyncio.timeout(5):
            await small.free
        assert not large.free.done()
        go_on.set()
        async with asyncio.timeout(5):
            await large.free

    asyncio.run(act())
