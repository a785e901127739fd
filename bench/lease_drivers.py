"""A lease cycle of each contestant: take what nobody else has, give it back. Each client has a name of its own.

All but filelock have it on the disk before they say so: that is what is compared. filelock, which only asks the kernel,
shows what a lock costs that nobody else can see, that has no token and that no crash is survived by.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from typing import Protocol

from bench.wire import Http, Redis, request

CORRAL, FILELOCK, SQLITE, REDIS, ETCD = "corral", "filelock", "SQLite opened by every client", "Redis", "etcd"


class Driver(Protocol):
    """One client of a contestant, with a connection that stays."""

    def cycle(self) -> bool:
        """Do it once; False if there is nothing left to do."""


class CorralLeases:
    """`POST /v1/leases` and its release."""

    def __init__(self, address: str, number: int) -> None:
        self._http = Http(address)
        self._agent, self._query = f"bench/a-{number}", f"?team=bench&agent=a-{number}"
        body = json.dumps({"patterns": [f"src/file-{number}.py"]}).encode()
        self._acquire = request("POST", f"/v1/leases{self._query}", body, self._agent)

    def cycle(self) -> bool:
        lease = json.loads(self._http.ask(self._acquire))["lease"]
        self._http.ask(request("POST", f"/v1/leases/{lease}/release{self._query}", b"{}", self._agent))
        return True


class FileLocks:
    """The lock of the library: a file, and flock(2)."""

    def __init__(self, address: str, number: int) -> None:
        from filelock import FileLock

        self._lock = FileLock(os.path.join(address, f"{number}.lock"))

    def cycle(self) -> bool:
        self._lock.acquire()
        self._lock.release()
        return True


class SqliteLeases:
    """A row in a database that every client has open: two transactions, each on the disk when it returns."""

    def __init__(self, address: str, number: int) -> None:
        self._db = sqlite3.connect(address, isolation_level=None, timeout=60)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._name = f"file-{number}"

    def cycle(self) -> bool:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO leases (name, holder) VALUES (?, ?)", (self._name, self._name))
        db.execute("COMMIT")
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM leases WHERE name = ? AND holder = ?", (self._name, self._name))
        db.execute("COMMIT")
        return True

    @staticmethod
    def prepare(address: str) -> None:
        """Make the table. AUTOINCREMENT has tokens grow for good, as ours do."""
        db = sqlite3.connect(address)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE leases (token INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, holder TEXT)")
        db.commit()
        db.close()


class RedisLeases:
    """`SET NX PX`, then `DEL`, with `appendfsync always`. There is no token, and no check of who deletes."""

    def __init__(self, address: str, number: int) -> None:
        self._redis = Redis(address)
        self._name = f"file-{number}"

    def cycle(self) -> bool:
        self._redis.ask("SET", self._name, "me", "NX", "PX", "60000")
        self._redis.ask("DEL", self._name)
        return True


class EtcdLeases:
    """A transaction that puts a key if it is not there, then one that removes it; the revision is the token."""

    def __init__(self, address: str, number: int) -> None:
        self._http = Http(address)
        key = base64.b64encode(f"file-{number}".encode()).decode()
        compare = {"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": 0}
        put = {"request_put": {"key": key, "value": key}}
        body = json.dumps({"compare": [compare], "success": [put]}).encode()
        self._acquire = request("POST", "/v3/kv/txn", body)
        self._release = request("POST", "/v3/kv/deleterange", json.dumps({"key": key}).encode())

    def cycle(self) -> bool:
        self._http.ask(self._acquire)
        self._http.ask(self._release)
        return True
