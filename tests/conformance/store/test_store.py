"""What every store must do. A second engine joins by adding itself to `ENGINES`."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.sqlite.store import SqliteStore, StoreError, of_person
from corral.domain import states
from corral.domain.errors import UnavailableError
from corral.domain.process_limits import DEFAULT_PROCESS_LIMITS, ProcessLimits
from corral.domain.records import Agent, NewEvent, Team, Who
from corral.ports.store import Change, Entry, Item, LogSize, Oldest, Store

Open = Callable[[], Awaitable[Store]]
ME, OTHER = Who(user="me", uid=1000), Who(user="you", uid=1001)
TEAM = Team(name="shop", file="/w/corral.toml", directory="/w", repo="/w", created_at=1.0)
AGENT = Agent(
    team="shop",
    name="a",
    position=0,
    command=("cat", "-"),
    shell=False,
    workspace_kind="worktree",
    workspace="/w/a",
    restart="never",
    prompt="hé",
    fingerprint={"command": "abcd"},
    state=states.RUNNING,
    pid=7,
)
ENGINES = ["sqlite"]


@pytest.fixture(params=ENGINES)
def open_store(request: pytest.FixtureRequest, own_directory: Path) -> Open:
    """Opens the same store each time."""
    assert request.param == "sqlite"
    return lambda: SqliteStore.open(str(own_directory / "store.db"))


def change(**parts: object) -> Change:
    return Change(who=ME, time=2.0, **parts)  # type: ignore[arg-type]


def test_a_new_store_knows_nothing(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        snapshot = await store.load()
        assert (snapshot.teams, snapshot.agents, await store.events()) == ([], [], [])
        await store.close()

    asyncio.run(scenario())


def test_what_was_committed_is_there_after_a_restart(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        told = NewEvent(event="team.up", team="shop")
        await store.commit(change(put_teams=[TEAM], put_agents=[AGENT], events=[told]))
        await store.close()
        store = await open_store()
        snapshot = await store.load()
        assert (snapshot.teams, snapshot.agents) == ([TEAM], [AGENT])
        (event,) = await store.events()
        assert (event.event, event.team, event.who, event.time) == ("team.up", "shop", ME, 2.0)
        await store.close()

    asyncio.run(scenario())


def test_the_instance_and_its_secret_stay_the_same(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        first = (store.instance, store.salt)
        await store.close()
        store = await open_store()
        assert (store.instance, store.salt) == first
        assert len(store.salt) == 32
        await store.close()

    asyncio.run(scenario())


def test_what_was_dropped_is_gone(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        await store.commit(change(put_teams=[TEAM], put_agents=[AGENT]))
        await store.commit(change(drop_teams=["shop"], drop_agents=[AGENT.key]))
        snapshot = await store.load()
        assert (snapshot.teams, snapshot.agents) == ([], [])
        await store.close()

    asyncio.run(scenario())


def test_a_transaction_that_fails_changes_nothing(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        broken = NewEvent(event="x", data={"no": object()})
        with pytest.raises(TypeError):
            await store.commit(change(put_teams=[TEAM], events=[NewEvent(event="first"), broken]))
        assert (await store.load()).teams == []
        assert await store.events() == []
        await store.commit(change(put_teams=[TEAM]))
        assert (await store.load()).teams == [TEAM]
        await store.close()

    asyncio.run(scenario())


def test_several_changes_are_done_together_each_by_whom_and_when_it_was(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        noted = Change(who=OTHER, time=1.0, events=[NewEvent(event="noted")])
        await store.commit(noted, change(put_teams=[TEAM], events=[NewEvent(event="team.up")]))
        events = [(event.event, event.who, event.time) for event in await store.events()]
        assert events == [("noted", OTHER, 1.0), ("team.up", ME, 2.0)]
        with pytest.raises(TypeError):
            await store.commit(change(drop_teams=["shop"]), change(events=[NewEvent(event="x", data={"no": object()})]))
        assert (await store.load()).teams == [TEAM]
        await store.close()

    asyncio.run(scenario())


def test_of_changes_that_are_about_the_same_record_the_last_counts(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        first, second = Item("lease", "l1", b"1"), Item("lease", "l2", b"2")
        await store.commit(change(put_items=[first]), change(drop_items=[("lease", "l1")]), change(put_items=[second]))
        assert await store.items("lease") == [second]
        await store.commit(change(drop_items=[("lease", "l2")]), change(put_items=[Item("lease", "l2", b"3")]))
        assert [item.value for item in await store.items("lease")] == [b"3"]
        await store.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [63, 64, 65, 200])
def test_a_commit_may_have_many_of_everything(open_store: Open, count: int) -> None:
    async def scenario() -> None:
        store = await open_store()
        numbers = range(1, count + 1)
        await store.commit(
            *(
                change(
                    put_items=[Item("task", f"{number:04}", b"%d" % number), Item("old", f"{number}", b"")],
                    log=[Entry(number, "shop", "news", 1.0, b"%d" % number)],
                    events=[NewEvent(event=f"e{number}")],
                )
                for number in numbers
            )
        )
        assert [event.event for event in await store.events()] == [f"e{number}" for number in numbers]
        assert [item.value for item in await store.items("task")] == [b"%d" % number for number in numbers]
        assert [entry.revision for entry in await store.log(after=0)] == list(numbers)
        await store.commit(change(drop_items=[("old", f"{number}") for number in numbers]))
        assert await store.items("old") == []
        await store.close()

    asyncio.run(scenario())


def test_events_have_numbers_that_only_grow(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        for number in range(5):
            await store.commit(change(events=[NewEvent(event=f"e{number}"), NewEvent(event=f"f{number}")]))
        numbers = [event.seq for event in await store.events()]
        assert numbers == sorted(set(numbers))
        assert len(numbers) == 10
        await store.close()

    asyncio.run(scenario())


def test_events_are_found_by_number_time_team_and_agent(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        for number, (team, agent) in enumerate([("x", ""), ("x", "a"), ("y", "a"), ("x", "b")]):
            await store.commit(
                Change(who=ME, time=float(number), events=[NewEvent(event=f"e{number}", team=team, agent=agent)])
            )

        async def names(**query: object) -> list[str]:
            return [event.event for event in await store.events(**query)]  # type: ignore[arg-type]

        assert await names(team="x") == ["e0", "e1", "e3"]
        assert await names(team="x", agent="a") == ["e1"]
        assert await names(since=2.0) == ["e2", "e3"]
        assert await names(after=2) == ["e2", "e3"]
        assert await names(last=2) == ["e2", "e3"]
        assert await names(limit=2) == ["e0", "e1"]
        await store.close()

    asyncio.run(scenario())


def test_events_of_one_agent_are_found_among_thousands_of_others(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        own = {0, 1, 1021, 1022, 1023, 1024, 2600, 5001}
        for begin in range(0, 5002, 61):  # a span ends in the middle of a transaction
            numbers = range(begin, min(begin + 61, 5002))
            await store.commit(
                change(events=[told(number, "rare" if number in own else f"a{number % 3}") for number in numbers])
            )
        told_of = [event.event for event in await store.events(team="x", agent="rare", limit=10_000)]
        assert told_of == [f"e{number}" for number in sorted(own)]
        third = (await store.events(team="x", agent="rare", limit=3))[-1].seq
        assert [event.event for event in await store.events(team="x", agent="rare", after=third, limit=2)] == [
            "e1022",
            "e1023",
        ]
        assert [event.event for event in await store.events(team="x", agent="rare", last=3)] == [
            "e1024",
            "e2600",
            "e5001",
        ]
        assert await store.events(team="y", agent="rare") == []
        await store.close()

    asyncio.run(scenario())


def test_stretches_that_tell_of_some_alone_are_passed_over(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        loud = [NewEvent(event="e", team="x", agent="loud") for _ in range(5000)]
        await store.commit(change(events=[NewEvent(event="first", team="y"), *loud]))
        newest = (await store.events(last=1))[0].seq
        other = ("y", "")
        # What is before the answer may be of others; what is not is of those that were named.
        begin = await store.newest_besides({("x", "loud")}, newest)
        assert {event.team for event in await store.events(after=begin - 1)} == {"x"}
        assert [event.event for event in await store.events(team="y", before=begin, last=1)] == ["first"]
        assert len(await store.events(before=begin, limit=5000)) < 2000
        assert await store.newest_besides({("x", "loud"), other}, newest) == 0
        assert await store.newest_besides({other}, newest) == newest
        assert await store.newest_besides({("x", "loud")}, 1) <= 1
        await store.close()

    asyncio.run(scenario())


def test_events_before_a_number(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        await store.commit(change(events=[told(number, "ab"[number % 2]) for number in range(2100)]))
        numbers = {event.event: event.seq for event in await store.events(limit=5000)}

        async def names(before: str, **query: object) -> list[str]:
            found = await store.events(before=numbers[before], last=2, **query)  # type: ignore[arg-type]
            return [event.event for event in found]

        assert await names("e1500") == ["e1498", "e1499"]
        assert await names("e1500", team="x", agent="b") == ["e1497", "e1499"]
        assert await names("e1023", team="x", agent="a") == ["e1020", "e1022"]
        assert await names("e1", team="x", agent="b") == []
        await store.close()

    asyncio.run(scenario())


def test_events_that_an_earlier_version_wrote_are_found_by_their_agent(own_directory: Path) -> None:
    path = str(own_directory / "store.db")

    async def found(*events: NewEvent) -> list[str]:
        store = await SqliteStore.open(path)
        await store.commit(change(events=events))
        names = [event.event for event in await store.events(team="x", agent="a", limit=5000)]
        await store.close()
        return names

    asyncio.run(found(*(told(number, "ab"[number % 2]) for number in range(3000))))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE journal_spans")
        db.execute("CREATE INDEX journal_by_agent ON journal (team, agent, seq)")
        db.execute("PRAGMA user_version = 2")
    assert asyncio.run(found(told(3000, "a"))) == [f"e{number}" for number in range(0, 3001, 2)]


def told(number: int, agent: str) -> NewEvent:
    return NewEvent(event=f"e{number}", team="x", agent=agent)


def test_a_team_of_an_earlier_version_has_the_usual_limits_on_commands(own_directory: Path) -> None:
    path = str(own_directory / "store.db")

    async def kept(*teams: Team) -> Team:
        store = await SqliteStore.open(path)
        await store.commit(change(put_teams=teams))
        (team,) = (await store.load()).teams
        await store.close()
        return team

    limited = replace(TEAM, processes=ProcessLimits(running=2))
    assert asyncio.run(kept(limited)) == limited
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE records SET value = CAST(json_remove(value, '$.processes') AS BLOB) WHERE kind = 'team'")
    assert asyncio.run(kept()) == TEAM
    assert TEAM.processes == DEFAULT_PROCESS_LIMITS


def test_a_store_of_a_newer_version_is_left_alone(own_directory: Path) -> None:
    path = own_directory / "store.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UnavailableError, match="newer"):
        asyncio.run(SqliteStore.open(str(path)))


def test_a_file_that_is_no_database_is_an_error_with_a_remedy(own_directory: Path) -> None:
    path = own_directory / "store.db"
    path.write_bytes(b"this is not a database, and long enough to look like one" * 20)
    with pytest.raises(StoreError, match=r"store\.db"):
        asyncio.run(SqliteStore.open(str(path)))


def test_items_are_found_by_their_kind_in_the_order_of_their_keys(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        items = [Item("k", "b", b"\0\xff"), Item("k", "a", b""), Item("other", "c", b"3")]
        await store.commit(change(put_teams=[TEAM], put_items=items))
        await store.commit(change(put_items=[Item("k", "b", b"new")], drop_items=[("other", "c"), ("other", "none")]))
        await store.close()
        store = await open_store()
        assert await store.items("k") == [Item("k", "a", b""), Item("k", "b", b"new")]
        assert await store.items("other") == []
        assert (await store.load()).teams == [TEAM]
        await store.close()

    asyncio.run(scenario())


def test_the_log_is_read_after_a_revision_and_ends_where_it_was_cut(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        entries = [
            Entry(number * 2, "shop" if number % 2 else "other", "t", 1.0, b"%d" % number) for number in range(9)
        ]
        await store.commit(change(log=entries[:5]), change(log=entries[5:]))
        assert await store.log(after=-1) == entries
        assert await store.log(after=6, limit=2) == entries[4:6]
        assert await store.log(after=0, team="shop", topic="t") == [entry for entry in entries if entry.team == "shop"]
        assert await store.log(after=0, topic="u") == []
        assert await store.log_sizes() == {"": LogSize(9, 9)}
        for wanted, revision in (((0, 0), 0), ((1, 0), 0), ((3, 0), 4), ((0, 5), 8), ((2, 4), 6), ((99, 0), 16)):
            assert (await store.oldest_in_log("", LogSize(*wanted))).revision == revision, wanted
        await store.commit(change(trim_log=[("", 5)]))
        assert await store.log(after=-1) == entries[3:]
        assert await store.log_sizes() == {"": LogSize(6, 6)}
        await store.commit(change(trim_log=[("", 99)]))
        assert (await store.log_sizes(), await store.oldest_in_log("", LogSize(1, 1))) == ({}, Oldest(0, LogSize(), {}))
        await store.close()

    asyncio.run(scenario())


def test_the_log_is_cut_person_by_person(open_store: Open) -> None:
    async def scenario() -> None:
        store = await open_store()
        entries = [
            Entry(number, "shop" if number % 3 else "mill", "t", 1.0, b"x" * number, person)
            for number, person in enumerate(("ann", "ben", "ben", "", "ann", "ben", "ben"), 1)
        ]
        await store.commit(change(log=entries))
        assert await store.log(after=0) == entries
        assert await store.log_sizes() == {"": LogSize(1, 4), "ann": LogSize(2, 6), "ben": LogSize(4, 18)}
        assert await store.oldest_in_log("ben", LogSize(3, 0)) == Oldest(6, LogSize(3, 11), {"shop": 2, "mill": 6})
        assert await store.oldest_in_log("ann", LogSize(0, 1)) == Oldest(1, LogSize(1, 1), {"shop": 1})
        assert await store.oldest_in_log("eve", LogSize(1, 1)) == Oldest(0, LogSize(), {})
        await store.commit(change(trim_log=[("ben", 6), ("ann", 1)]))
        assert await store.log(after=0) == [entries[3], entries[4], entries[6]]
        await store.commit(change(trim_log=[("", 99)]))
        assert await store.log(after=0) == [entries[4], entries[6]]
        await store.close()

    asyncio.run(scenario())


def test_the_log_of_an_earlier_version_is_nobodys(own_directory: Path) -> None:
    path = str(own_directory / "store.db")
    before, after = Entry(1, "shop", "t", 1.0, b"old"), Entry(2, "shop", "t", 2.0, b"new", "ann")

    async def kept(entry: Entry) -> list[Entry]:
        store = await SqliteStore.open(path)
        await store.commit(change(log=[entry]))
        entries = await store.log(after=0)
        await store.close()
        return entries

    asyncio.run(kept(before))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP INDEX log_by_person")
        db.execute("ALTER TABLE log DROP COLUMN person")
        db.execute("PRAGMA user_version = 4")
    assert asyncio.run(kept(after)) == [before, after]


def test_entries_of_a_person_are_found_without_looking_at_those_of_others(own_directory: Path) -> None:
    path = str(own_directory / "store.db")

    async def made() -> None:
        await (await SqliteStore.open(path)).close()

    asyncio.run(made())
    with contextlib.closing(sqlite3.connect(path)) as db:
        for person, way in (("ann", "USING INDEX log_by_person (person=?"), ("", "USING INTEGER PRIMARY KEY")):
            plan = db.execute(
                f"EXPLAIN QUERY PLAN DELETE FROM log WHERE {of_person(person)} AND revision <= 7", (person,)
            )
            assert way in plan.fetchall()[0][3]
