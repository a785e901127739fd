"""While one request is compared with very much, others have their turn, and what comes meanwhile is not missed."""

import asyncio

from corral.domain.lease_comparing import Comparing
from corral.domain.lease_model import EXCLUSIVE, Claim, Party
from corral.domain.leases import Leases
from corral.domain.path_patterns import parse
from corral.service.lease_comparisons import AT_ONCE, Comparisons


def claim(party: str, *patterns: str, realm: str = "/r") -> Claim:
    read = tuple(parse(pattern) for pattern in patterns)
    return Claim(realm=realm, patterns=read, mode=EXCLUSIVE, party=Party(party), ttl=10.0)


def filled(count: int) -> Leases:
    leases = Leases()
    for number in range(count):
        leases.grant(claim("spy", *(f"d{number}a/p{place}/f" for place in range(10))), number + 1, 0.0, 0.0)
    return leases


WIDE = claim("mill", *(f"**/*b/p{number}/*" for number in range(4)))


def test_others_have_their_turn_and_those_of_other_files_wait_for_nothing() -> None:
    async def act() -> None:
        leases = filled(3 * AT_ONCE // 10)
        comparisons = Comparisons(lambda: leases)
        one, other = (asyncio.ensure_future(comparisons.of(lambda: leases.comparing(WIDE))) for _ in range(2))
        elsewhere = 0
        while not one.done():
            await asyncio.sleep(0)
            elsewhere += 1
            compared = await comparisons.of(lambda: leases.comparing(claim("mill", "x", realm="/other")))
            assert compared.compared == 0
            assert not other.done(), "of one repository, one after the other"
        assert elsewhere >= 12, "a turn after each of so many steps"
        assert (await other).compared == (await one).compared == 4 * 3 * AT_ONCE

    asyncio.run(act())


def test_what_is_granted_meanwhile_is_found_and_so_it_is_when_all_is_read_again() -> None:
    async def act() -> None:
        now = [filled(3 * AT_ONCE // 10)]
        comparisons = Comparisons(lambda: now[0])

        def begin() -> Comparing:
            return now[0].comparing(WIDE)

        asked = asyncio.ensure_future(comparisons.of(begin))
        await asyncio.sleep(0)
        now[0].grant(claim("spy", "x/b/p1/f"), 9000, 0.0, 0.0)
        assert list((await asked).in_the_way) == ["l9000"]
        asked = asyncio.ensure_future(comparisons.of(begin))
        await asyncio.sleep(0)
        now[0] = filled(2)
        assert (await asked).in_the_way == {}

    asyncio.run(act())
