"""The audit as a use case: what is waited for, what is refused, and what is kept when the disk takes nothing."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.audit.verifying import verify
from corral.adapters.audit.writer import TrailWriter
from corral.domain.audit import Entry, Note, Target
from corral.domain.audit_filter import EVERYTHING, Wanted
from corral.domain.audit_terms import AuditTerms
from corral.domain.errors import BrokenTrailError, CorralError, RefusedError
from corral.ports.audit import Reached
from corral.service import audit as service
from corral.service.audit import LOST, RESUMED, Audit
from corral.service.audit_shipping import Shipping
from tests.support.audit import ANN, TERMS, Clock, checkpoints, entries, lines, segments

_ON = Target(kind="agent", team="shop", agent="docs")


class Moody(TrailWriter):
    """A trail on a disk that can be full."""

    full = False
    #: There is a mistake in what writes, or in what waits for the disk.
    wrong = False
    never_synced = False
    appends = 0
    syncs = 0

    async def append(self, notes: Sequence[Note]) -> Reached:
        self.appends += 1
        self._fail()
        return await super().append(notes)

    def _fail(self) -> None:
        if self.full:
            raise RefusedError("the audit trail cannot be written (No space left on device)")
        if self.wrong:
            raise ValueError("a mistake of ours")

    def append_now(self, notes: Sequence[Note]) -> Reached | None:
        self._fail()
        reached = super().append_now(notes)
        self.appends += reached is not None
        return reached

    async def sync(self) -> int:
        self.syncs += 1
        if self.never_synced:
            raise ValueError("a mistake of ours")
        return await super().sync()


def _run(directory: Path, use: Callable[[Audit, Moody], Awaitable[None]], terms: AuditTerms = TERMS) -> None:
    async def run() -> None:
        trail = await Moody.open(str(directory), terms, Clock(), {})
        assert isinstance(trail, Moody)
        audit = Audit(trail, terms, Clock())
        try:
            await use(audit, trail)
        finally:
            await audit.close()

    asyncio.run(run())


def _verbs(directory: Path) -> list[str]:
    return [entry.note.verb for entry in entries(directory) if not entry.note.verb.startswith("audit.")]


def test_a_decision_is_in_the_trail_when_it_may_be_acted_on(tmp_path: Path) -> None:
    async def use(audit: Audit, _: Moody) -> None:
        decision = await audit.decided(ANN, "send", _ON, allowed=True, rule="members_send", detail={"bytes": 5})
        written = [entry for entry in entries(tmp_path / "t") if entry.note.trace == decision.trace]
        assert [(entry.note.verb, entry.note.outcome, entry.number) for entry in written] == [
            ("send", "", decision.number)
        ]
        audit.done(decision, "200", {"bytes": 5})
        await audit.durable(decision)

    _run(tmp_path / "t", use)
    decided, done = (entry for entry in entries(tmp_path / "t") if entry.note.verb == "send")
    assert decided.note.trace == done.note.trace
    assert (done.note.outcome, done.note.who, done.note.rule) == ("200", ANN, "members_send")
    assert verify(str(tmp_path / "t")).ok


def test_many_decisions_share_a_wait_for_the_disk(tmp_path: Path) -> None:
    async def use(audit: Audit, trail: Moody) -> None:
        async def one() -> None:
            decision = await audit.decided(ANN, "send", _ON, allowed=True)
            await audit.durable(decision)

        await asyncio.gather(*(one() for _ in range(100)))
        assert trail.syncs <= 10

    _run(tmp_path / "t", use, AuditTerms(enabled=True))
    assert len(_verbs(tmp_path / "t")) == 100


def test_what_cannot_be_written_is_refused_and_what_happened_waits_for_room(tmp_path: Path) -> None:
    async def use(audit: Audit, trail: Moody) -> None:
        decision = await audit.decided(ANN, "send", _ON, allowed=True)
        trail.full = True
        audit.done(decision, "200")
        with pytest.raises(RefusedError, match="No space left"):
            await audit.decided(ANN, "stop", _ON, allowed=True)
        with pytest.raises(RefusedError, match="No space left"):
            await audit.ready()
        trail.full = False
        await audit.ready()

    _run(tmp_path / "t", use)
    assert _verbs(tmp_path / "t") == ["send", "send"]
    assert RESUMED in [entry.note.verb for entry in entries(tmp_path / "t")]
    assert verify(str(tmp_path / "t")).ok


def test_what_happened_and_found_no_room_even_to_wait_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_WAITING", 10)

    async def use(audit: Audit, trail: Moody) -> None:
        trail.full = True
        with pytest.raises(RefusedError):
            await audit.decided(ANN, "stop", _ON, allowed=True)
        for _ in range(25):
            audit.noted(ANN, "screen", _ON, outcome="200")
        trail.full = False
        await audit.ready()
        audit.noted(ANN, "screen", _ON, outcome="200")

    _run(tmp_path / "t", use)
    lost = [entry.note.detail for entry in entries(tmp_path / "t") if entry.note.verb == LOST]
    assert [detail["entries"] for detail in lost] == [15]
    assert _verbs(tmp_path / "t") == ["screen"] * 11


def test_checkpoints_come_after_so_many_entries_and_are_shipped(tmp_path: Path) -> None:
    shipped: list[bytes] = []
    terms = AuditTerms(enabled=True, checkpoint_entries=5)

    async def run() -> None:
        trail = await TrailWriter.open(str(tmp_path / "t"), terms, Clock(), {})
        audit = Audit(trail, terms, Clock(), Shipping(shipped.append))
        for _ in range(12):
            await audit.decided(ANN, "send", _ON, allowed=True)
        await audit.close()

    asyncio.run(run())
    kept = tmp_path / "kept"
    kept.write_bytes(b"".join(shipped))
    report = verify(str(tmp_path / "t"), shipped=str(kept))
    assert report.ok
    assert report.checkpoints >= 4
    assert shipped[-1] in next(iter((tmp_path / "t").glob("*.checkpoints"))).read_bytes()


def test_checkpoints_of_the_opening_and_of_ends_of_files_are_shipped_as_well(tmp_path: Path) -> None:
    shipped: list[bytes] = []
    terms = replace(TERMS, checkpoint_entries=1000)

    async def run() -> None:
        trail = await TrailWriter.open(str(tmp_path / "t"), terms, Clock(), {})
        shipping = Shipping(shipped.append)
        audit = Audit(trail, terms, Clock(), shipping)
        await audit.begin()
        await shipping.close()
        assert len(shipped) == 1
        while len(segments(tmp_path / "t")) < 3:
            await audit.decided(ANN, "send", _ON, allowed=True)
            await shipping.close()
        assert len(shipped) == 3
        await audit.close()

    asyncio.run(run())
    assert shipped == [line.data for line in lines(checkpoints(tmp_path / "t"))]


def test_who_waits_is_answered_also_if_it_fails_as_nobody_expects(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(audit: Audit, trail: Moody) -> None:
        async with asyncio.timeout(10):
            trail.wrong = True
            with pytest.raises(CorralError, match="the audit trail could not be written down: ValueError"):
                await audit.decided(ANN, "send", _ON, allowed=True)
            audit.noted(ANN, "list_agents", _ON, outcome="200")
            assert not audit.is_ready
            trail.wrong = False
            await audit.ready()
            decision = await audit.decided(ANN, "send", _ON, allowed=True)
            trail.never_synced = True
            with pytest.raises(CorralError, match="ValueError"):
                await audit.durable(decision)
            trail.never_synced = False
            await audit.durable(decision)
            await audit.ready()
        assert caplog.text.count("a mistake of ours") >= 2
        caplog.clear()

    _run(tmp_path / "t", use)
    assert _verbs(tmp_path / "t") == ["list_agents", "send"]


def test_evidence_of_another_trail_is_told_loudly(caplog: pytest.LogCaptureFixture) -> None:
    def ship(line: bytes) -> None:
        raise BrokenTrailError("it was shipped before, and is another one") if line == b"1" else CorralError("no room")

    async def run() -> None:
        shipping = Shipping(ship)
        for line in (b"1", b"2"):
            shipping.ship(line)
            await shipping.close()

    asyncio.run(run())
    assert [record.levelname for record in caplog.records] == ["CRITICAL", "WARNING"]


def test_a_checkpoint_that_waits_is_tried_when_the_one_before_it_failed() -> None:
    taken: list[bytes] = []

    async def run() -> None:
        shipping = Shipping(ship)
        shipping.ship(b"1")
        await asyncio.to_thread(begun.wait, 10)
        shipping.ship(b"2")
        waits.set()
        await shipping.close()

    def ship(line: bytes) -> None:
        begun.set()
        waits.wait(10)
        if line == b"1":
            raise CorralError("nobody takes it")
        taken.append(line)

    begun, waits = threading.Event(), threading.Event()
    asyncio.run(run())
    assert taken == [b"2"]


def test_the_newest_checkpoint_is_shipped_when_that_works_again() -> None:
    taken: list[bytes] = []
    down = True

    def ship(line: bytes) -> None:
        if down:
            raise CorralError("nobody takes it")
        taken.append(line)

    async def run() -> None:
        nonlocal down
        shipping = Shipping(ship)
        shipping.ship(b"1")
        await shipping.close()
        assert shipping.trouble == "nobody takes it"
        down = False
        shipping.ship(b"2")
        await shipping.close()
        assert shipping.trouble == ""

    asyncio.run(run())
    assert taken == [b"2"]


def test_a_reader_sees_what_is_wanted_and_what_it_may_see(tmp_path: Path) -> None:
    async def use(audit: Audit, _: Moody) -> None:
        for number in range(6):
            audit.noted(ANN, "screen" if number % 2 else "logs", _ON, outcome="200")
        await audit.decided(ANN, "send", _ON, allowed=False, rule="observers_watch", outcome="403")

        async def seen(wanted: Wanted, may_see: Callable[[Entry], bool], last: int | None = None) -> list[str]:
            return [entry.note.verb async for entry in audit.read(wanted, may_see, last=last)]

        assert await seen(Wanted(verbs=["s*"]), lambda _: True) == ["screen"] * 3 + ["send"]
        assert await seen(Wanted(denied=True), lambda _: True) == ["send"]
        assert await seen(EVERYTHING, lambda entry: entry.note.verb == "logs", last=2) == ["logs"] * 2
        assert await seen(Wanted(who="bob"), lambda _: True) == []
        assert await seen(EVERYTHING, lambda _: False) == []

    _run(tmp_path / "t", use)


def test_a_follower_gets_what_comes(tmp_path: Path) -> None:
    async def use(audit: Audit, _: Moody) -> None:
        found = audit.read(Wanted(verbs=["screen"]), lambda _: True, last=0, follow=True)
        coming = asyncio.ensure_future(anext(found))
        await asyncio.sleep(0)
        audit.noted(ANN, "logs", _ON, outcome="200")
        audit.noted(ANN, "screen", _ON, outcome="200")
        assert (await coming).note.verb == "screen"
        await found.aclose()

    _run(tmp_path / "t", use)
