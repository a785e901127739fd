-- Version 2. The store is owned by one daemon; nobody else opens it.

CREATE TABLE IF NOT EXISTS meta (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- Records as JSON: the domain gives them their shape, and it is read back strictly.
CREATE TABLE IF NOT EXISTS records (
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS journal (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    time    REAL NOT NULL,
    team    TEXT NOT NULL,
    agent   TEXT NOT NULL,
    event   TEXT NOT NULL,
    entry   BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS journal_by_agent ON journal (team, agent, seq);

-- What others follow, by revision. Bounded: the oldest go.
CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY,
    team     TEXT NOT NULL,
    topic    TEXT NOT NULL,
    time     REAL NOT NULL,
    value    BLOB NOT NULL
);
