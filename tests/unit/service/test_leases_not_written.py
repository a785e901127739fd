"""What becomes of those who wait for leases while the disk is full, or slow."""

import asyncio
from pathlib import Path

import pytest

from corral.domain import lease_comparing
from corral.domain.errors import CorralError, RefusedError
from corral.domain.lease_comparing import Comparing
from corral.ports.store import Change
from tests.support.records import AGENT, PERSON
from tests.unit.service.lease_scene import LeaseScene, claim, play


def test_who_waits_for_much_keeps_nobody_from_hearing_that_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_comparing, "MOST_COMPARED", 1000)

    async def act(scene: LeaseScene) -> None:
        held = await scene.take(claim("ann", "z"))
        waiting = await scene.in_line(claim("mill", "z", *(f"**/*b/p{number}/*" for number in range(7))))
        for number in range(30):  # in nobody's way, and by now more than one request may be compared with
            await scene.take(claim("spy", *(f"d{number}a/p{place}/f" for place in range(8))))
        scene.disk.full = True
        with monkeypatch.context() as patched:
            patched.setattr(Comparing, "step", lambda *_: pytest.fail("what is known is compared again"))
            with pytest.raises(CorralError, match="disk is full"):
                await scene.release(held)
        scene.disk.full = False
        assert not waiting.done()
        assert held.lease.lease in {one.lease.lease for one in scene.service.held()}
        await scene.release(held)
        assert (await waiting).lease.claim.party.name == "mill"

    play(tmp_path, act)


def test_who_took_what_a_session_lost_is_known_though_something_else_could_not_be_written(tmp_path: Path) -> None:
    async def act(scene: LeaseScene) -> None:
        await scene.take(claim("shop/a", "x", run=AGENT.run))
        lost = scene.service.of_party("shop/a")[0]
        await scene.service.release(PERSON, lost.lease, "shop/a", None)
        other = await scene.take(claim("bob", "y"))
        waiting = await scene.in_line(claim("carl", "x", "y"))
        scene.disk.full = True
        with pytest.raises(CorralError, match="disk is full"):
            await scene.take(claim("dora", "z"))
        scene.disk.full = False
        await scene.release(other)
        taker = (await waiting).lease
        (found,) = scene.service.lost_by("shop/a", AGENT.run, "/r")
        assert [one.lease for one in found.takers] == [taker.lease]

    play(tmp_path, act)


def test_what_went_and_could_not_be_written_is_in_the_way_of_who_came_meanwhile(tmp_path: Path) -> None:
    async def act(scene: LeaseScene) -> None:
        mine, other = await scene.take(claim("ann", "x")), await scene.take(claim("bob", "y"))
        scene.disk.full = True
        releasing = asyncio.ensure_future(scene.release(mine))
        await asyncio.sleep(0)
        waiting = await scene.in_line(claim("carl", "x", "y"))
        with pytest.raises(CorralError, match="disk is full"):
            await releasing
        scene.disk.full = False
        await scene.release(other)
        assert not waiting.done()
        with pytest.raises(RefusedError) as refused:
            await scene.take(claim("dora", "x"))
        assert refused.value.details["holder"] == "ann"
        await scene.release(mine)
        assert (await waiting).lease.claim.party.name == "carl"

    play(tmp_path, act)


def test_one_whose_time_is_up_while_it_is_written_what_is_theirs_is_told_so_and_has_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(scene: LeaseScene) -> None:
        held = await scene.take(claim("ann", "x"))
        commit, room = scene.disk.commit, asyncio.Event()

        async def slow(*changes: Change) -> None:
            await room.wait()
            await commit(*changes)

        monkeypatch.setattr(scene.disk, "commit", slow)
        waiting = await scene.in_line(claim("bob", "x"), 0.5)
        releasing = asyncio.ensure_future(scene.release(held))
        with pytest.raises(RefusedError, match="time was up when"):
            await waiting
        room.set()
        await releasing
        next_one = await scene.take(claim("carl", "x"), 10)
        assert [one.lease.lease for one in scene.service.held()] == [next_one.lease.lease]

    play(tmp_path, act)
