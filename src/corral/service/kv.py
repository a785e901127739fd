"""The use cases around values that a whole team sees."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable

import msgspec

from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.kv import Transaction, Value, Values
from corral.domain.records import NewEvent, Team, Who
from corral.ports.store import Change, Entry, Item
from corral.service.context import Context
from corral.service.ledger import Ledger

_KIND = "kv"
#: The topic of the log that has every change of a value. No topic of a person can have this name.
TOPIC = "kv"
_PAGE = 500
_encode = msgspec.msgpack.Encoder().encode


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One key, and what it is after a change; no value if it was removed."""

    key: str
    value: bytes | None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A change: all that one transaction did."""

    revision: int
    time: float
    by: str
    changes: list[Changed]


class _Told(msgspec.Struct, frozen=True, array_like=True):
    """A change, as it is in the log."""

    by: str
    changes: list[Changed]


class Kv:
    """The use cases."""

    def __init__(self, context: Context, ledger: Ledger) -> None:
        self._store = context.store
        self._now = context.now
        self._ledger = ledger
        self._teams: dict[str, Values] = {}
        #: By person, what those of all teams weigh.
        self._taken = Counter[str]()
        #: By team, the last revision that was decided: it may be on its way to the disk.
        self._decided: dict[str, int] = {}
        ledger.keep(self._read)
        ledger.shares.count(lambda person: self._taken[person])

    async def _read(self) -> Callable[[], None]:
        found: dict[str, dict[str, Value]] = {}
        for item in await self._store.items(_KIND):
            team, _, key = item.key.partition("/")
            found.setdefault(team, {})[key] = msgspec.msgpack.decode(item.value, type=Value)

        def put() -> None:
            self._taken = Counter()
            self._teams = {team: Values(values, self._taken) for team, values in found.items()}

        return put

    async def get(self, team: Team, key: str) -> Value:
        """The value of a key, or `NotFoundError`; when that is on the disk."""
        try:
            found = self._of(team).get(key)
        except NotFoundError:
            await self._holds(team)
            raise
        await self._holds(team)
        return found

    async def below(self, team: Team, prefix: str) -> tuple[list[tuple[str, Value]], int]:
        """Keys that begin so, with their values, when that is on the disk; and the revision up to which it is all."""
        found, revision = self._of(team).below(prefix), self._ledger.revision
        await self._holds(team)
        return found, revision

    async def _holds(self, team: Team) -> None:
        """Return when all that the values of a team were before is on the disk.

        Nobody is told what a crash could still undo: neither as a value, nor as the reason of a refusal.
        """
        if self._decided.get(team.name, 0) > self._ledger.settled:
            await self._ledger.caught_up()

    async def transact(self, who: Who, team: Team, transaction: Transaction) -> tuple[int, list[str]]:
        """Do all of it, or nothing; when it is on the disk, its revision and the keys that it changed."""
        revision, now, by = self._ledger.next_revision(), self._now(), who.agent or who.user
        values, person = self._of(team), self._ledger.shares.person_of(who.user)
        try:
            self._ledger.shares.check(person, values.growth(transaction, person))
            changed = values.transact(transaction, revision, by, now, person)
        except RefusedError:
            await self._holds(team)
            raise
        self._decided[team.name] = revision
        keys = {key: f"{team.name}/{key}" for key in changed}
        told = _Told(by, [Changed(key=key, value=value.value if value else None) for key, value in changed.items()])
        data: dict[str, object] = {"keys": list(keys), "revision": revision}
        await self._ledger.write(
            Change(
                who=who,
                time=now,
                put_items=[Item(_KIND, keys[key], _encode(value)) for key, value in changed.items() if value],
                drop_items=[(_KIND, keys[key]) for key, value in changed.items() if value is None],
                log=[Entry(revision, team.name, TOPIC, now, _encode(told), person)] if changed else [],
                events=[NewEvent(event="kv.changed", team=team.name, data=data)] if changed else [],
            )
        )
        return revision, list(changed)

    async def watch(self, team: Team, prefix: str, after: int | None) -> AsyncGenerator[Seen, None]:
        """Every change after a revision (without one, from now on), each once, in order, for as long as it is heard."""
        cursor = self._ledger.revision if after is None else self._ledger.known(after)
        async for entry in self._ledger.follow(cursor, team=team.name, topic=TOPIC, page=_PAGE):
            seen = _seen(entry, prefix)
            if seen is not None:
                yield seen

    async def changes(self, team: Team, prefix: str, after: int, wait: float) -> tuple[list[Seen], int]:
        """Changes after a revision, some of them, and the revision to go on from: nothing in between is missed.

        If there is none yet, the first that comes within `wait` seconds.
        """
        cursor, found = self._ledger.known(after), list[Seen]()
        while not found:
            settled = self._ledger.settled
            page = await self._ledger.after(cursor, team=team.name, topic=TOPIC, limit=_PAGE)
            found = [seen for seen in (_seen(entry, prefix) for entry in page) if seen is not None]
            if len(page) < _PAGE:
                cursor = max(cursor, settled, page[-1].revision if page else 0)
                break
            cursor = page[-1].revision
        if not found and wait > 0:
            coming = self.watch(team, prefix, cursor)
            async with contextlib.aclosing(coming):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        found = [await anext(coming)]
                        cursor = found[-1].revision
        return found, cursor

    def _of(self, team: Team) -> Values:
        return self._teams.setdefault(team.name, Values(taken=self._taken))


def _seen(entry: Entry, prefix: str) -> Seen | None:
    """What an entry of the log says of keys that begin so; None if it says nothing of them."""
    told = msgspec.msgpack.decode(entry.value, type=_Told)
    changes = [change for change in told.changes if change.key.startswith(prefix)]
    return Seen(revision=entry.revision, time=entry.time, by=told.by, changes=changes) if changes else None
