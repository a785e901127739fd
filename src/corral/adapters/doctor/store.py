"""The store, read without being touched, while no daemon has it.

Not opened where it is if a daemon left it in the middle of something: SQLite would make files beside it. A copy is
read then, in a directory of its own that goes away again.
"""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote

import msgspec

from corral.adapters.sqlite.store import AGENT, SCHEMA_VERSION, TEAM
from corral.domain.diagnosis_facts import AgentRecord, Records
from corral.domain.records import Agent, Team

#: A daemon that starts while we read changes the files under us; then they are read again.
_TRIES = 3


def read(path: str) -> Records:
    """What the store at `path` knows; "none" if there is none."""
    for _ in range(_TRIES):
        before = _state(path)
        if before[0] is None:
            return Records(source="none")
        try:
            found = _read(path, left_open=before[1] is not None and before[1][1] > 0)
        except (sqlite3.Error, OSError, msgspec.DecodeError) as error:
            found = Records(source="unknown", why=f"the store {path} cannot be read: {error}")
        if _state(path) == before:
            return found
    return Records(source="unknown", why=f"the store {path} is being written")


def _read(path: str, *, left_open: bool) -> Records:
    if not left_open:
        return _query(f"file:{quote(path)}?mode=ro&immutable=1")
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="corral-doctor-") as directory:
        copy = os.path.join(directory, "corral.db")
        shutil.copyfile(path, copy)
        shutil.copyfile(path + "-wal", copy + "-wal")
        return _query(f"file:{quote(copy)}?mode=ro")


def _query(uri: str) -> Records:
    db = sqlite3.connect(uri, uri=True)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            return Records(source="unknown", why=f"the store was written by a newer Corral (schema {version})")
        (instance,) = db.execute("SELECT value FROM meta WHERE name = 'instance'").fetchone()
        rows = db.execute("SELECT kind, value FROM records").fetchall()
    finally:
        db.close()
    teams = [msgspec.json.decode(value, type=Team) for kind, value in rows if kind == TEAM]
    agents = [msgspec.json.decode(value, type=Agent) for kind, value in rows if kind == AGENT]
    return Records(
        source="store",
        instance=bytes(instance).hex(),
        teams=frozenset(team.name for team in teams),
        agents=tuple(
            AgentRecord(
                team=agent.team,
                agent=agent.name,
                state=agent.state,
                since=agent.since,
                run=agent.run,
                workspace=agent.workspace,
                pid=agent.pid,
                containment=agent.containment,
                containment_why=agent.containment_why,
                terminal=agent.terminal,
            )
            for agent in agents
        ),
    )


def _state(path: str) -> tuple[tuple[int, int] | None, ...]:
    """When each of the store's files was written, and how long it is."""
    found: list[tuple[int, int] | None] = []
    for name in (path, path + "-wal"):
        try:
            info = os.stat(name)
            found.append((info.st_mtime_ns, info.st_size))
        except FileNotFoundError:
            found.append(None)
    return tuple(found)
