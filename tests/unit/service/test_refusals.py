"""Refusals of callers in the audit trail: the first of a kind at once, the others counted, and none of them lost."""

import asyncio
from collections.abc import Mapping
from typing import cast

import pytest

from corral.domain.audit import Actor, Target
from corral.service import refusals
from corral.service.audit import Audit, Decision
from corral.service.refusals import Refusal, Refusals
from tests.support.audit import note


class _Trail:
    """An audit that keeps what it is told, and can be full."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.full = False
        self.counted = asyncio.Event()

    async def decided(self, _: Actor, verb: str, *__: object, detail: Mapping[str, object], **___: object) -> Decision:
        if self.full:
            raise OSError("the disk is full")
        self.told.append((verb, detail.get("more", 0)))
        if "more" in detail:
            self.counted.set()
        return Decision(note=note(1, trace=f"trace{len(self.told)}"))


def _refusal(verb: str) -> Refusal:
    return Refusal(who=Actor(uid=1, user="ann"), verb=verb, on=Target(), outcome="409", detail={"why": "so"})


async def _tell(found: Refusals, verb: str, source: int = 1) -> str:
    return await found.tell(_refusal(verb), source=source, kind=(verb,), others=_refusal("unknown"))


def test_the_same_again_is_counted_and_told_of_when_it_ends() -> None:
    async def run() -> None:
        trail = _Trail()
        found = Refusals(cast("Audit", trail))
        traces = {await _tell(found, "up") for _ in range(1000)}
        await _tell(found, "up", source=2)
        await _tell(found, "down")
        assert traces == {"trace1"}
        assert trail.told == [("up", 0), ("up", 0), ("down", 0)]
        await found.close()
        assert trail.told[3:] == [("up", 999)]

    asyncio.run(run())


def test_the_count_is_told_of_after_a_while_and_then_it_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "_COUNTED_SECONDS", 0.0)

    async def run() -> None:
        trail = _Trail()
        found = Refusals(cast("Audit", trail))
        for _ in range(3):
            await _tell(found, "up")
        await trail.counted.wait()
        assert trail.told == [("up", 0), ("up", 2)]
        await _tell(found, "up")
        assert trail.told[2:] == [("up", 0)]
        await found.close()

    asyncio.run(run())


def test_who_is_refused_in_ever_new_ways_fills_nothing_and_takes_nothing_from_others() -> None:
    async def run() -> None:
        trail = _Trail()
        found = Refusals(cast("Audit", trail))
        for number in range(1000):
            await _tell(found, f"verb{number}")
        assert len(trail.told) == refusals._MOST_KINDS + 1
        await _tell(found, "up", source=2)
        assert trail.told[-1] == ("up", 0)
        await found.close()
        assert trail.told[-1] == ("unknown", 1000 - refusals._MOST_KINDS - 1)

    asyncio.run(run())


def test_one_that_could_not_be_written_is_told_of_with_the_count() -> None:
    async def run() -> None:
        trail = _Trail()
        trail.full = True
        found = Refusals(cast("Audit", trail))
        with pytest.raises(OSError, match="full"):
            await _tell(found, "up")
        trail.full = False
        await _tell(found, "up")
        await found.close()
        assert trail.told == [("up", 2)]

    asyncio.run(run())
