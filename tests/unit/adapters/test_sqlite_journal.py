"""What is noted of a transaction that was undone is noted again."""

import sqlite3
from importlib.resources import files

from corral.adapters.sqlite.journal import Journal, read
from corral.domain.records import NewEvent, Who
from corral.ports.store import Change


def told(agent: str) -> list[Change]:
    event = NewEvent(event="e", team="x", agent=agent)
    return [Change(who=Who(user="me", uid=1000), time=1.0, events=[event])]


def test_an_agent_is_found_though_the_first_that_was_told_of_it_was_undone() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript((files("corral.adapters.sqlite") / "schema.sql").read_text())
    journal = Journal()
    db.execute("BEGIN")
    journal.write(db, told("a"))
    db.execute("ROLLBACK")
    journal.forget()
    db.execute("BEGIN")
    journal.write(db, told("a"))
    db.execute("COMMIT")
    assert len(read(db, after=None, since=None, team="x", agent="a", last=None, limit=10)) == 1
    db.close()


def test_a_search_for_an_agent_reads_the_spans_that_tell_of_it_in_order_and_sorts_nothing() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript((files("corral.adapters.sqlite") / "schema.sql").read_text())
    asked: list[str] = []
    db.set_trace_callback(asked.append)
    for last in (None, 5):
        read(db, after=7, since=1.0, team="x", agent="a", last=last, limit=10)
    db.set_trace_callback(None)
    for query in asked:
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")]
        assert [step.split(" (")[0] for step in plan] == [
            "SEARCH s USING PRIMARY KEY",
            "SEARCH journal USING INTEGER PRIMARY KEY",
        ]
    db.close()


def test_with_each_span_that_begins_the_oldest_goes_once_there_are_enough() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript((files("corral.adapters.sqlite") / "schema.sql").read_text())
    journal = Journal(kept=2)
    for agent in ("first", "second", "third", "fourth", "fifth"):
        journal.write(db, [one for _ in range(1024) for one in told(agent)])
    # The last began the fifth span, with the number 5 << 10: two whole ones are before it.
    assert db.execute("SELECT min(seq), max(seq) FROM journal").fetchone() == (3 << 10, 5 << 10)
    spans = db.execute("SELECT agent FROM journal_spans").fetchall()
    assert {agent for (agent,) in spans} == {"third", "fourth", "fifth"}
    assert read(db, after=None, since=None, team="x", agent="first", last=None, limit=10) == []
    (oldest,) = read(db, after=0, since=None, team="", agent="", last=None, limit=1)
    assert oldest.seq == 3 << 10
    db.close()
