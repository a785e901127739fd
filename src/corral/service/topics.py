"""The use cases around topics: what is published is appended to the log, and read from there by revision."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from corral.domain.errors import WrongUseError
from corral.domain.records import NewEvent, Team, Who
from corral.domain.topics import check_entry, check_name, name_in_log
from corral.ports.store import Change, Entry
from corral.service.context import Context
from corral.service.ledger import Ledger

#: Entries, and bytes of them, that are read at once.
MOST_AT_ONCE, MOST_BYTES = 100, 32 << 20
_encode = msgspec.msgpack.Encoder().encode


class _Told(msgspec.Struct, frozen=True, array_like=True):
    """What was published, as it is in the log."""

    by: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An entry of a topic."""

    revision: int
    time: float
    by: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is read at once: so many entries, and so many bytes unless the first alone has more."""

    entries: int = MOST_AT_ONCE
    bytes: int = MOST_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some entries, and the revision to go on from."""

    entries: list[Published]
    next: int


class Topics:
    """The use cases."""

    def __init__(self, context: Context, ledger: Ledger) -> None:
        self._now = context.now
        self._ledger = ledger

    async def publish(self, who: Who, team: Team, topic: str, data: bytes) -> int:
        """Append to a topic; its revision, when it is on the disk."""
        check_name(topic)
        check_entry(data)
        revision, now = self._ledger.next_revision(), self._now()
        told, person = _Told(who.agent or who.user, data), self._ledger.shares.person_of(who.user)
        about: dict[str, object] = {"topic": topic, "revision": revision, "bytes": len(data)}
        await self._ledger.write(
            Change(
                who=who,
                time=now,
                log=[Entry(revision, team.name, name_in_log(topic), now, _encode(told), person)],
                events=[NewEvent(event="topic.published", team=team.name, data=about)],
            )
        )
        return revision

    async def follow(self, team: Team, topic: str, after: int | None) -> AsyncIterator[Published]:
        """Every entry after a revision (without one, from now on), each once, in order, for as long as it is heard."""
        cursor = self._start(topic, after)
        async for entry in self._ledger.follow(cursor, team=team.name, topic=name_in_log(topic), page=MOST_AT_ONCE):
            yield _published(entry)

    async def read(self, team: Team, topic: str, after: int | None, limits: Limits, wait: float) -> Page:
        """The entries after a revision, a page of them; if there is none yet, the first within `wait` seconds.

        To go on from `next` misses nothing, also if others write so much that the log forgets what was before.
        """
        cursor, name = self._start(topic, after), name_in_log(topic)
        if not 1 <= limits.entries <= MOST_AT_ONCE:
            raise WrongUseError(f"limit={limits.entries}: 1 to {MOST_AT_ONCE} are possible")
        page = await self._page(team, name, cursor, limits)
        if page.entries or wait <= 0:
            return page
        # The one that comes says that there is something; read anew, those that came with it are there too.
        coming = self._ledger.follow(page.next, team=team.name, topic=name, page=1)
        async with contextlib.aclosing(coming):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await anext(coming)
                    page = await self._page(team, name, page.next, limits)
        return page

    async def _page(self, team: Team, name: str, cursor: int, limits: Limits) -> Page:
        settled = self._ledger.settled
        found = await self._ledger.after(cursor, team=team.name, topic=name, limit=limits.entries)
        entries = [_published(entry) for entry in found]
        fitting = _within(entries, limits.bytes)
        if len(fitting) < len(entries) or len(entries) == limits.entries:
            return Page(entries=fitting, next=fitting[-1].revision)
        # All of it: what has a smaller number than these was on the disk before they were read.
        last = entries[-1].revision if entries else 0
        return Page(entries=entries, next=max(cursor, last, settled))

    def _start(self, topic: str, after: int | None) -> int:
        check_name(topic)
        return self._ledger.revision if after is None else self._ledger.known(after)


def _published(entry: Entry) -> Published:
    told = msgspec.msgpack.decode(entry.value, type=_Told)
    return Published(revision=entry.revision, time=entry.time, by=told.by, data=told.data)


def _within(entries: list[Published], most: int) -> list[Published]:
    """The first of these, so many bytes and not more, but at least one."""
    size = 0
    for number, entry in enumerate(entries):
        size += len(entry.data)
        if number and size > most:
            return entries[:number]
    return entries
