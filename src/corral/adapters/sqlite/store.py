"""The embedded store: one SQLite file, one thread that writes it, fsynced before a commit returns."""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import TypeVar

import msgspec

from corral.domain.errors import CorralError, UnavailableError
from corral.domain.records import Agent, Event, Team, Who
from corral.ports.store import Change, Entry, Item, Snapshot

SCHEMA_VERSION = 2
TEAM, AGENT = "team", "agent"

_T = TypeVar("_T")
_encode = msgspec.json.Encoder().encode


class _Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of an event that is not a column."""

    who: Who
    outcome: str
    data: dict[str, object] = {}


class StoreError(CorralError):
    """The store could not be read or written. Nothing was changed by the command that met it."""

    code = "store"


class SqliteStore:
    """See `ports.store.Store`. Made by `open`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None
        self.instance = ""
        self.salt = b""

    @classmethod
    async def open(cls, path: str) -> SqliteStore:
        """Open the store at `path`, made if it is not there."""
        store = cls(path)
        try:
            await store._run(store._open)
        except BaseException:
            store._thread.shutdown()
            raise
        return store

    async def load(self) -> Snapshot:
        """See `Store.load`."""

        def work(db: sqlite3.Connection) -> Snapshot:
            rows = db.execute(
                "SELECT kind, value FROM records WHERE kind IN (?, ?) ORDER BY kind, key", (TEAM, AGENT)
            ).fetchall()
            return Snapshot(
                teams=[msgspec.json.decode(value, type=Team) for kind, value in rows if kind == TEAM],
                agents=[msgspec.json.decode(value, type=Agent) for kind, value in rows if kind == AGENT],
            )

        return await self._run(lambda: work(self._db))

    async def commit(self, *changes: Change) -> list[Event]:
        """See `Store.commit`."""
        return await self._run(lambda: self._commit(changes))

    async def items(self, kind: str) -> list[Item]:
        """See `Store.items`."""

        def work() -> list[Item]:
            rows = self._db.execute("SELECT key, value FROM records WHERE kind = ? ORDER BY key", (kind,))
            return [Item(kind, key, value) for key, value in rows]

        return await self._run(work)

    async def log(self, *, after: int, team: str = "", topic: str = "", limit: int = 1000) -> list[Entry]:
        """See `Store.log`."""

        def work() -> list[Entry]:
            rows = self._db.execute(
                "SELECT revision, team, topic, time, value FROM log"
                " WHERE revision > :after AND (:team = '' OR team = :team) AND (:topic = '' OR topic = :topic)"
                " ORDER BY revision LIMIT :limit",
                {"after": after, "team": team, "topic": topic, "limit": limit},
            )
            return [Entry(*row) for row in rows]

        return await self._run(work)

    async def log_size(self) -> int:
        """See `Store.log_size`."""

        def work() -> int:
            (count,) = self._db.execute("SELECT count(*) FROM log").fetchone()
            return int(count)

        return await self._run(work)

    async def events(
        self,
        *,
        after: int | None = None,
        since: float | None = None,
        team: str = "",
        agent: str = "",
        last: int | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """See `Store.events`."""
        conditions, values = ["1"], list[object]()
        for condition, value in (
            ("seq > ?", after),
            ("time >= ?", since),
            ("team = ?", team or None),
            ("agent = ?", agent or None),
        ):
            if value is not None:
                conditions.append(condition)
                values.append(value)
        newest_first = last is not None
        query = (
            "SELECT seq, time, team, agent, event, entry FROM journal"  # noqa: S608 - conditions are ours
            f" WHERE {' AND '.join(conditions)} ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT ?"
        )
        values.append(last if last is not None else limit)
        rows = await self._run(lambda: self._db.execute(query, values).fetchall())
        events = [_event(row) for row in rows]
        return events[::-1] if newest_first else events

    async def close(self) -> None:
        """See `Store.close`."""
        if self._connection is not None:
            await self._run(self._connection.close)
            self._connection = None
        self._thread.shutdown()

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def _open(self) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        os.close(descriptor)
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=1.0)
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version > SCHEMA_VERSION:
                raise UnavailableError(
                    f"{self._path} was written by a newer Corral (schema {version}, this one knows {SCHEMA_VERSION})",
                    "use that newer version; nothing was changed",
                )
            if version < SCHEMA_VERSION:
                db.executescript((files("corral.adapters.sqlite") / "schema.sql").read_text())
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self.instance = self._secret(db, "instance", 6).hex()
            self.salt = self._secret(db, "salt", 32)
        except BaseException:
            db.close()
            raise
        self._connection = db

    @staticmethod
    def _secret(db: sqlite3.Connection, name: str, size: int) -> bytes:
        db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, secrets.token_bytes(size)))
        (value,) = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return bytes(value)

    def _commit(self, changes: Sequence[Change]) -> list[Event]:
        db = self._db
        events: list[Event] = []
        db.execute("BEGIN IMMEDIATE")
        try:
            for change in changes:
                events += _apply(db, change)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return events

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            if "locked" in str(error):
                raise StoreError(
                    f"{self._path} is held by another daemon, whose socket is gone",
                    "it ends by itself within ten seconds: try again then",
                ) from error
            raise StoreError(
                f"{self._path}: {error}",
                "is the disk full, or the directory not writable? nothing was changed; try again when it is mended",
            ) from error


def _agent_key(key: tuple[str, str]) -> str:
    return "/".join(key)


def _event(row: tuple[int, float, str, str, str, bytes]) -> Event:
    seq, time, team, agent, event, raw = row
    entry = msgspec.json.decode(raw, type=_Entry)
    return Event(
        seq=seq, time=time, event=event, team=team, agent=agent, who=entry.who, outcome=entry.outcome, data=entry.data
    )


def _apply(db: sqlite3.Connection, change: Change) -> Iterator[Event]:
    put = [(TEAM, team.name, _encode(team)) for team in change.put_teams]
    put += [(AGENT, _agent_key(agent.key), _encode(agent)) for agent in change.put_agents]
    drop = [(TEAM, name) for name in change.drop_teams]
    drop += [(AGENT, _agent_key(key)) for key in change.drop_agents]
    put += [(item.kind, item.key, item.value) for item in change.put_items]
    drop += change.drop_items
    db.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", put)
    db.executemany("DELETE FROM records WHERE kind = ? AND key = ?", drop)
    db.executemany(
        "INSERT INTO log (revision, team, topic, time, value) VALUES (?, ?, ?, ?, ?)",
        [(entry.revision, entry.team, entry.topic, entry.time, entry.value) for entry in change.log],
    )
    if change.trim_log:
        db.execute("DELETE FROM log WHERE revision <= ?", (change.trim_log,))
    for new in change.events:
        entry = _encode(_Entry(who=change.who, outcome=new.outcome, data=new.data))
        cursor = db.execute(
            "INSERT INTO journal (time, team, agent, event, entry) VALUES (?, ?, ?, ?, ?)",
            (change.time, new.team, new.agent, new.event, entry),
        )
        assert cursor.lastrowid is not None
        yield Event(
            seq=cursor.lastrowid,
            time=change.time,
            event=new.event,
            team=new.team,
            agent=new.agent,
            who=change.who,
            outcome=new.outcome,
            data=new.data,
        )
