"""Values and topics over their whole way, against a model: memory, ledger and disk, with full disks and crashes."""

import asyncio
import contextlib
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from corral.adapters.sqlite.store import SqliteStore, StoreError
from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.kv import Transaction
from corral.ports.store import Change
from corral.service.context import Context
from corral.service.kv import Kv
from corral.service.ledger import Ledger
from corral.service.topics import Limits, Topics
from tests.support.records import PERSON, TEAM

_T = TypeVar("_T")
keys = st.sampled_from(["a", "a/b", "c"])
topics = st.sampled_from(["news", "kv"])
texts = st.binary(min_size=1, max_size=3)


class Disk(SqliteStore):
    """A store whose disk can be full."""

    full = False

    async def commit(self, *changes: Change) -> None:
        if self.full:
            raise StoreError("the disk is full")
        await super().commit(*changes)


class Machine(RuleBasedStateMachine):
    """Anything that anybody can do with values and topics, one after the other and several at once."""

    def __init__(self) -> None:
        super().__init__()
        self.cleanup = contextlib.ExitStack()
        directory = self.cleanup.enter_context(tempfile.TemporaryDirectory())
        self.path = str(Path(directory) / "corral.db")
        self.loop = asyncio.new_event_loop()
        self.cleanup.callback(self.loop.close)
        #: What must be: values with their revisions, changes and entries in order.
        self.values: dict[str, tuple[bytes, int]] = {}
        self.changes: list[tuple[int, dict[str, bytes | None]]] = []
        self.entries: dict[str, list[tuple[int, bytes]]] = {"news": [], "kv": []}
        self.last = 0
        self.wait(self.open())

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self.loop.run_until_complete(work)

    async def open(self) -> None:
        disk = await Disk.open(self.path)
        assert isinstance(disk, Disk)
        self.disk, self.ledger = disk, Ledger(disk)
        context = cast(Context, SimpleNamespace(store=disk, now=lambda: 1.0))
        self.kv, self.topics = Kv(context, self.ledger), Topics(context, self.ledger)
        await self.ledger.load()

    def teardown(self) -> None:
        self.wait(self.disk.close())
        self.cleanup.close()

    def grown(self, revision: int) -> None:
        assert revision > self.last, "a number was given out twice"
        self.last = revision

    def written(self, revision: int, puts: dict[str, bytes], drops: list[str]) -> None:
        gone = [key for key in drops if key in self.values]
        self.grown(revision)
        self.values |= {key: (value, revision) for key, value in puts.items()}
        for key in gone:
            del self.values[key]
        if puts or gone:
            self.changes.append((revision, {**puts, **dict.fromkeys(gone)}))

    @rule(puts=st.dictionaries(keys, texts, min_size=1, max_size=2), seen=st.booleans(), other=st.booleans())
    def put(self, puts: dict[str, bytes], seen: bool, other: bool) -> None:
        compared = {key: self.values.get(key, (b"", 0))[1] + other for key in puts} if seen or other else {}
        wanted = Transaction(puts=puts, if_revisions=compared)
        if other:
            with pytest.raises(RefusedError):
                self.wait(self.kv.transact(PERSON, TEAM, wanted))
            return
        revision, changed = self.wait(self.kv.transact(PERSON, TEAM, wanted))
        assert set(changed) == set(puts)
        self.written(revision, puts, [])

    @rule(key=keys)
    def drop(self, key: str) -> None:
        revision, changed = self.wait(self.kv.transact(PERSON, TEAM, Transaction(drops=[key])))
        assert changed == ([key] if key in self.values else [])
        self.written(revision, {}, [key])

    @rule(key=keys, swaps=st.integers(2, 5))
    def swap_at_once(self, key: str, swaps: int) -> None:
        """Of several who have seen the same, one wins."""
        seen = self.values.get(key, (b"", 0))[1]

        async def all_of_them() -> list[tuple[int, list[str]] | BaseException]:
            wanted = [Transaction(puts={key: b"%d" % number}, if_revisions={key: seen}) for number in range(swaps)]
            asked = (self.kv.transact(PERSON, TEAM, one) for one in wanted)
            return await asyncio.gather(*asked, return_exceptions=True)

        answers = enumerate(self.wait(all_of_them()))
        ((number, (revision, _)),) = [(number, answer) for number, answer in answers if isinstance(answer, tuple)]
        self.written(revision, {key: b"%d" % number}, [])

    @rule(topic=topics, data=texts)
    def publish(self, topic: str, data: bytes) -> None:
        revision = self.wait(self.topics.publish(PERSON, TEAM, topic, data))
        self.grown(revision)
        self.entries[topic].append((revision, data))

    @rule(key=keys, topic=topics)
    def the_disk_is_full(self, key: str, topic: str) -> None:
        """Nothing of what is refused then is ever seen."""
        self.disk.full = True

        async def all_of_them() -> tuple[object, ...]:
            return await asyncio.gather(
                self.kv.transact(PERSON, TEAM, Transaction(puts={key: b"never"})),
                self.topics.publish(PERSON, TEAM, topic, b"never"),
                self.kv.transact(PERSON, TEAM, Transaction(drops=[key])),
                return_exceptions=True,
            )

        assert all(isinstance(answer, StoreError) for answer in self.wait(all_of_them()))
        self.disk.full = False

    @rule()
    def the_daemon_is_another(self) -> None:
        self.wait(self.disk.close())
        self.wait(self.open())

    @invariant()
    def values_are_as_they_should_be(self) -> None:
        found, revision = self.wait(self.kv.below(TEAM, ""))
        assert {key: (value.value, value.revision) for key, value in found} == self.values
        assert revision >= self.last
        for key in ("a", "a/b", "c"):
            if key in self.values:
                assert self.wait(self.kv.get(TEAM, key)).value == self.values[key][0]
            else:
                with pytest.raises(NotFoundError):
                    self.wait(self.kv.get(TEAM, key))

    @rule(data=st.data())
    def changes_are_read_from_anywhere(self, data: st.DataObject) -> None:
        after = data.draw(st.integers(0, self.last))
        seen, following = self.wait(self.kv.changes(TEAM, "", after, 0.0))
        told = [(one.revision, {change.key: change.value for change in one.changes}) for one in seen]
        assert told == [one for one in self.changes if one[0] > after]
        assert self.wait(self.kv.changes(TEAM, "", following, 0.0))[0] == []

    @rule(topic=topics, data=st.data(), limit=st.integers(1, 5))
    def topics_are_read_page_by_page_from_anywhere(self, topic: str, data: st.DataObject, limit: int) -> None:
        after = cursor = data.draw(st.integers(0, self.last))
        found: list[tuple[int, bytes]] = []
        while (page := self.wait(self.topics.read(TEAM, topic, cursor, Limits(entries=limit), 0.0))).entries:
            found += [(entry.revision, entry.data) for entry in page.entries]
            cursor = page.next
        assert found == [entry for entry in self.entries[topic] if entry[0] > after]


TestAnySequence = Machine.TestCase
TestAnySequence.settings = settings(max_examples=40, stateful_step_count=25)
