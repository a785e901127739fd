"""What `who` reads of the journal, counted: events that are decoded, and bytes that are kept."""

import asyncio
from pathlib import Path

import pytest

from corral.adapters.sqlite import journal
from corral.adapters.sqlite.store import SqliteStore
from corral.domain.records import SUPERVISOR, NewEvent
from corral.ports.store import Change
from corral.service import journal_pages
from corral.service.journal_pages import Pages


def lease(realm: str, *patterns: str) -> NewEvent:
    data: dict[str, object] = {"lease": "l1", "patterns": list(patterns), "mode": "exclusive", "realm": realm}
    return NewEvent(event="lease.granted", team="", data=data)


def read(directory: Path, *events: NewEvent) -> Pages:
    async def act() -> Pages:
        store = await SqliteStore.open(str(directory / "corral.db"))
        await store.commit(Change(who=SUPERVISOR, time=60.0, events=events))
        pages = Pages("/r of ann", "shop", None)
        await pages.read(store)
        await store.close()
        return pages

    return asyncio.run(act())


def test_what_is_about_other_files_is_not_even_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, before = [0], journal._event

    def counted(row: tuple[int, float, str, str, str, bytes]) -> object:
        decoded[0] += 1
        return before(row)

    monkeypatch.setattr(journal, "_event", counted)
    others = [lease("/r of ben", "x" * 1000) for _ in range(300)]
    forged = lease("/r of ben", '"realm":"/r of ann"')
    mine = lease("/r of ann", "mine")
    task = NewEvent(event="task.added", team="shop", data={"task": "t1"})
    its = NewEvent(event="task.added", team="mill", data={"task": "t1"})
    old = NewEvent(event="lease.granted", team="shop", data={"lease": "l2", "patterns": ["old"]})
    another = NewEvent(event="agent.started", team="shop")
    pages = read(tmp_path, mine, task, *others, forged, its, another, old)
    assert [event.data.get("lease") or event.data.get("task") for event in pages.events] == ["l1", "t1", "l2"]
    assert decoded[0] == 3 + 1, "and the newest, to know where the end is"
    assert pages.unread == []


def test_no_more_is_kept_than_fits_and_it_is_told_where_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_pages, "MOST_BYTES", 10_000)
    pages = read(tmp_path, *(lease("/r of ann", f"{number}-{'x' * 950}") for number in range(300)))
    assert len(pages.events) == 9
    assert str(pages.events[-1].data["patterns"]).startswith("['299-"), "the newest are"
    assert pages.unread == ["the journal up to 1970-01-01T00:01:00.000Z: what is behind it is very long"]


def test_only_the_newest_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_pages, "MOST_EVENTS", 150)
    pages = read(tmp_path, *(lease("/r of ann", f"{number}") for number in range(300)))
    assert [event.data["patterns"] for event in pages.events] == [[f"{number}"] for number in range(150, 300)]
