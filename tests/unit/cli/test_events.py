"""`corral events`: the journal as lines, for people and for programs."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.places import Places
from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, stream

EVENT = {
    "seq": 7,
    "time": "2025-11-30T14:05:06Z",
    "team": "shop",
    "agent": "builder-1",
    "event": "agent.started",
    "who": {"user": "ann", "uid": 1000, "agent": None},
    "outcome": "ok",
    "data": {"pid": 4711, "words": "exit \x1b[1m now", "none": None, "note": ""},
}


@pytest.fixture(autouse=True)
def _in_berlin() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "CET-1")
        time.tzset()
        yield
    time.tzset()


def test_a_line_an_event(corral: Corral, daemon: FakeDaemon) -> None:
    failed = {**EVENT, "agent": None, "outcome": "failed", "data": {}, "who": {"agent": "shop/lead", "user": "ann"}}
    daemon.answer("GET", "/v1/events", stream(EVENT, failed))
    assert corral("events").out.splitlines() == [
        "2025-11-30 15:05:06  shop/builder-1  agent.started  pid=4711  words='exit \\x1b[1m now'  by ann",
        "2025-11-30 15:05:06  shop  agent.started  failed  by shop/lead",
    ]


def test_no_name_moves_a_cursor(corral: Corral, daemon: FakeDaemon) -> None:
    odd = {**EVENT, "agent": "\x9b2J", "who": {"agent": "shop/\x1b[1m", "user": "ann"}, "data": {}}
    daemon.answer("GET", "/v1/events", stream(odd))
    assert corral("events").out == "2025-11-30 15:05:06  shop/\ufffd2J  agent.started  by shop/\ufffd[1m\n"


def test_a_long_hash_is_shown_by_its_beginning_and_nobody_is_named_twice(corral: Corral, daemon: FakeDaemon) -> None:
    data = {"sha256": "ab12" * 16, "commit": "cd34" * 10, "run": "ab12" * 3, "bytes": 10**39, "by": "ann"}
    other = {**EVENT, "data": {"by": "bob", "text": "ab12" * 16 + "!"}}
    daemon.answer("GET", "/v1/events", stream({**EVENT, "data": data}, other))
    first, second = corral("events").out.splitlines()
    assert first.endswith(f"  sha256=ab12ab12ab12…  commit=cd34cd34cd34…  run=ab12ab12ab12  bytes={10**39}  by ann")
    assert second.endswith(f"  by=bob  text={'ab12' * 16}!  by ann")
    assert corral("events", "--json").json_lines[0]["data"] == data


def test_only_events_of_some_names(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/events", stream(EVENT))
    outcome = corral("events", "--event", "agent.*", "--event=inbox.answered")
    assert daemon.last.query["event"] == ["agent.*", "inbox.answered"]
    assert outcome.err == ""
    daemon.answer("GET", "/v1/events", stream())
    assert "no event is named like agnt.*" in corral("events", "--event", "agnt.*").err
    assert corral("events", "--event", "agnt.*", "--json").err == ""
    assert corral("events").err == ""


def test_json_lines(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/events", stream(EVENT, EVENT))
    assert corral("events", "--json").json_lines == [EVENT, EVENT]


def test_the_question(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/events", stream())
    corral("events")
    assert (daemon.last.query["lines"], daemon.last.query["follow"]) == (["100"], ["0"])
    corral("events", "-f", "-n5", "--agent", "shop/a", "--since", "1970-01-01T00:00:10Z", "--after", "3")
    query = daemon.last.query
    assert (query["team"], query["agent"], query["lines"]) == (["shop"], ["a"], ["5"])
    assert (query["since"], query["after"], query["follow"]) == (["10.0"], ["3"], ["1"])
    corral("events", "--after", "3")
    assert "lines" not in daemon.last.query


def test_an_instance_that_was_never_used_has_no_events(corral: Corral) -> None:
    outcome = corral("events", "--json")
    assert (outcome.code, outcome.out) == (0, "")


def test_a_journal_without_a_daemon_says_who_reads_it(corral: Corral, places: Places) -> None:
    os.makedirs(places.home, exist_ok=True)
    for path in (places.database, places.at_rest_mark):
        Path(path).touch()
    outcome = corral("events", "--json")
    assert (outcome.code, outcome.error["remedy"]) == (6, "corral daemon start")


@pytest.mark.parametrize("of", [("--agent", "nope"), ("--team", "nope"), ("--agent", "shop/nope", "-f")])
def test_an_instance_that_was_never_used_has_no_agent_to_tell_of(corral: Corral, of: tuple[str, ...]) -> None:
    outcome = corral("events", "--json", *of)
    assert (outcome.code, outcome.error["code"], outcome.out) == (3, "not_found", "")
    assert "nope" in outcome.error["message"]


def test_an_agent_that_is_yet_to_come_is_remarked_on_and_waited_for(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/events", stream({"awaited": "shop/b"}, EVENT))
    outcome = corral("events", "-f", "--agent", "shop/b")
    assert "shop/b" in outcome.err
    assert len(outcome.out.splitlines()) == 1
    outcome = corral("events", "-f", "--agent", "shop/b", "--json")
    assert (outcome.err, outcome.json_lines) == ("", [EVENT])  # a stream of events and nothing else
