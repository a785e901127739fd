"""Refusals of callers in the audit trail: the first of a kind at once, the others counted, and none of them lost."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from corral.domain.audit import Actor, Target
from corral.domain.errors import RefusedError
from corral.service import refusals
from corral.service.audit import Audit, Decision
from corral.service.far_callers import FarCallers
from corral.service.refusals import Refusal, Refusals
from corral.service.tokens import Tokens
from tests.support.audit import note


class _Trail:
    """An audit that keeps what it is told, and can be full."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.who: list[Actor] = []
        self.full = False
        self.counted = asyncio.Event()

    async def decided(self, who: Actor, verb: str, *_: object, detail: Mapping[str, object], **__: object) -> Decision:
        await asyncio.sleep(0)
        if self.full:
            raise RefusedError("the disk is full")
        self.told.append((verb, detail.get("more", 0)))
        self.who.append(who)
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
        with pytest.raises(RefusedError, match="full"):
            await _tell(found, "up")
        trail.full = False
        await _tell(found, "up")
        await found.close()
        assert trail.told == [("up", 2)]

    asyncio.run(run())


def test_an_end_waits_for_what_is_being_told_and_goes_on_where_it_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        trail = _Trail()
        found = Refusals(cast("Audit", trail))
        for _ in range(3):
            await _tell(found, "up")
        found._tell_rest(next(iter(found._counted)))  # it is on its way
        await found.close()
        assert trail.told == [("up", 0), ("up", 2)]

        for verb in ("down", "up"):
            await _tell(found, verb)
            await _tell(found, verb)
        trail.full = True
        await found.close()
        assert trail.told[2:] == [("down", 0), ("up", 0)]
        assert [record.message for record in caplog.records] == [
            "1 refusals of ann are not in the audit trail: the disk is full",
        ] * 2

    asyncio.run(run())


def test_from_afar_each_is_counted_as_what_it_was() -> None:
    ann, ben = (Actor(uid=uid, user=user, member=True, via="tcp") for uid, user in ((1, "ann"), (2, "ben")))

    async def run() -> None:
        trail = _Trail()
        callers = FarCallers(cast("Tokens", None), cast("Audit", trail))

        async def refused(who: Actor, verb: str, address: str = "192.0.2.1") -> None:
            await callers.tell_refusal(address, replace(_refusal(verb), who=who))

        await refused(ann, "list_agents")
        for _ in range(50):
            await refused(ben, "down")
        assert trail.told == [("list_agents", 0), ("down", 0)]
        for number in range(100):
            await refused(ann, "up", address=f"192.0.2.{number}")
        trail.told.clear()
        trail.who.clear()
        await callers.close()
        assert sorted(trail.told) == [("down", 49), ("unknown", 69)]
        assert dict(zip((verb for verb, _ in trail.told), trail.who, strict=True)) == {
            "down": ben,
            "unknown": Actor(uid=-1, user="unknown", via="tcp"),
        }

    asyncio.run(run())
