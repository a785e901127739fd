"""The embedded store: one SQLite file, one thread that writes it, fsynced before a commit returns."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Collection, Sequence
from importlib.resources import files
from typing import TypeVar

import msgspec

from corral.adapters.sqlite import journal
from corral.adapters.sqlite.rows import STATEMENTS, write_rows
from corral.adapters.worker import Worker
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.records import Agent, Event, Team
from corral.ports.store import Change, Entry, Item, LogSize, Oldest, Snapshot

SCHEMA_VERSION = 5
TEAM, AGENT = "team", "agent"

_T = TypeVar("_T")
_encode = msgspec.json.Encoder().encode
#: A person's entries of the log. Where all are one person's, there is no index over them, and no other entries.
_OF_PERSON, _OF_ALL = "person = ? AND person <> ''", "person = ?"


class StoreError(CorralError):
    """The store could not be read or written. Nothing was changed by the command that met it."""

    code = "store"


class SqliteStore:
    """See `ports.store.Store`. Made by `open`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._thread = Worker("store")
        self._connection: sqlite3.Connection | None = None
        self._journal = journal.Journal()
        self.instance = ""
        self.salt = b""

    @classmethod
    async def open(cls, path: str) -> SqliteStore:
        """Open the store at `path`, made if it is not there."""
        store = cls(path)
        try:
            await store._run(store._open)
        except BaseException:
            store._thread.end()
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

    async def commit(self, *changes: Change) -> None:
        """See `Store.commit`."""
        await self._run(lambda: self._commit(changes))

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
                "SELECT revision, team, topic, time, value, person FROM log"
                " WHERE revision > :after AND (:team = '' OR team = :team) AND (:topic = '' OR topic = :topic)"
                " ORDER BY revision LIMIT :limit",
                {"after": after, "team": team, "topic": topic, "limit": limit},
            )
            return [Entry(*row) for row in rows]

        return await self._run(work)

    async def log_sizes(self) -> dict[str, LogSize]:
        """See `Store.log_sizes`."""

        def work() -> dict[str, LogSize]:
            rows = self._db.execute("SELECT person, count(*), sum(length(value)) FROM log GROUP BY person")
            return {person: LogSize(entries, size) for person, entries, size in rows}

        return await self._run(work)

    async def oldest_in_log(self, person: str, size: LogSize) -> Oldest:
        """See `Store.oldest_in_log`."""

        def work() -> Oldest:
            revision, entries, total = 0, 0, 0
            teams: dict[str, int] = {}
            rows = self._db.execute(
                f"SELECT revision, team, length(value) FROM log WHERE {of_person(person)} ORDER BY revision",  # noqa: S608 - ours # nosec B608
                (person,),
            )
            while entries < size.entries or total < size.bytes:
                row = rows.fetchone()
                if row is None:
                    break
                revision, entries, total = row[0], entries + 1, total + row[2]
                teams[row[1]] = revision
            rows.close()
            return Oldest(revision, LogSize(entries, total), teams)

        return await self._run(work)

    async def events(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        since: float | None = None,
        team: str = "",
        agent: str = "",
        named: Sequence[str] = (),
        realm: tuple[str, str] | None = None,
        last: int | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """See `Store.events`."""
        return await self._run(
            lambda: journal.read(
                self._db,
                after=after,
                before=before,
                since=since,
                team=team,
                agent=agent,
                named=named,
                realm=realm,
                last=last,
                limit=limit,
            )
        )

    async def newest_besides(self, hidden: Collection[tuple[str, str]], before: int) -> int:
        """See `Store.newest_besides`."""
        return await self._run(lambda: journal.newest_besides(self._db, hidden, before))

    async def close(self) -> None:
        """See `Store.close`."""
        if self._connection is not None:
            await self._run(self._connection.close)
            self._connection = None
        self._thread.end()

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def _open(self) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        os.close(descriptor)
        db = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=1.0, cached_statements=STATEMENTS
        )
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
                _add_columns(db)
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

    def _commit(self, changes: Sequence[Change]) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            _apply(db, changes)
            self._journal.write(db, changes)
            db.execute("COMMIT")
        except BaseException:
            self._journal.forget()
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await self._thread.do(work)
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


def of_person(person: str) -> str:
    """What the entries of a person in the log have in common, such that they are found without looking at others."""
    return _OF_PERSON if person else _OF_ALL


def _agent_key(key: tuple[str, str]) -> str:
    return "/".join(key)


def _add_columns(db: sqlite3.Connection) -> None:
    """Give the tables of an earlier version the columns that they lack: all else the schema says of what there is."""
    columns = {name for _, name, *_ in db.execute("PRAGMA table_info(log)")}
    if columns and "person" not in columns:
        db.execute("ALTER TABLE log ADD COLUMN person TEXT NOT NULL DEFAULT ''")


def _apply(db: sqlite3.Connection, changes: Sequence[Change]) -> None:
    """Do all changes, as if one after the other: of a record that several are about, the last says what it is."""
    records = _records(changes)
    put = [(kind, key, value) for (kind, key), value in records.items() if value is not None]
    drop = [at for at, value in records.items() if value is None]
    write_rows(db, "INSERT OR REPLACE INTO records {rows}", put)
    write_rows(db, "DELETE FROM records WHERE (kind, key) IN ({rows})", drop)
    log = [
        (one.revision, one.team, one.topic, one.time, one.value, one.person) for change in changes for one in change.log
    ]
    write_rows(db, "INSERT INTO log (revision, team, topic, time, value, person) {rows}", log)
    for change in changes:
        for person, revision in change.trim_log:
            db.execute(
                f"DELETE FROM log WHERE {of_person(person)} AND revision <= ?",  # noqa: S608 - ours # nosec B608
                (person, revision),
            )


def _records(changes: Sequence[Change]) -> dict[tuple[str, str], bytes | None]:
    """By kind and key, what becomes of each record; None if it goes."""
    found: dict[tuple[str, str], bytes | None] = {}
    for change in changes:
        for team in change.put_teams:
            found[TEAM, team.name] = _encode(team)
        for agent in change.put_agents:
            found[AGENT, _agent_key(agent.key)] = _encode(agent)
        for item in change.put_items:
            found[item.kind, item.key] = item.value
        for name in change.drop_teams:
            found[TEAM, name] = None
        for key in change.drop_agents:
            found[AGENT, _agent_key(key)] = None
        for at in change.drop_items:
            found[at] = None
    return found
