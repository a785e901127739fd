-- Version 5. The store is owned by one daemon; nobody else opens it.

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
DROP INDEX IF EXISTS journal_by_agent;

-- Which agents, and which teams or hosts as such, are told of in each 1024 entries of the journal (adapters/sqlite/journal.py).
CREATE TABLE IF NOT EXISTS journal_spans (
    team  TEXT NOT NULL,
    agent TEXT NOT NULL,
    span  INTEGER NOT NULL,
    PRIMARY KEY (team, agent, span)
) WITHOUT ROWID;
INSERT OR IGNORE INTO journal_spans SELECT DISTINCT team, agent, seq >> 10 FROM journal;
CREATE INDEX IF NOT EXISTS journal_spans_by_span ON journal_spans (span);

-- What others follow, by revision. Bounded: the oldest go, of those persons who have the most.
CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY,
    team     TEXT NOT NULL,
    topic    TEXT NOT NULL,
    time     REAL NOT NULL,
    value    BLOB NOT NULL,
    person   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS log_by_person ON log (person) WHERE person <> '';
