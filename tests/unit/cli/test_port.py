"""`corral port`: one number, and a table that no command line can spoil."""

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, document

ROW: dict[str, object] = {
    "port": 20250,
    "team": "shop",
    "agent": "api",
    "name": None,
    "listening": False,
    "pid": None,
    "command": "",
    "leased": True,
}
ROWS: list[object] = [
    ROW,
    {**ROW, "port": 20251, "name": "web", "listening": True, "pid": 71, "command": "node\nserver.js \x1b[2J"},
    {**ROW, "port": 8080, "listening": True, "pid": 72, "command": "httpd", "leased": False},
    {**ROW, "team": None, "agent": None, "listening": True, "pid": 9, "command": "nginx", "leased": False},
]


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CORRAL_AGENT", raising=False)


def test_the_table_says_who_has_what_and_who_listens(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/ports", document(ROWS))
    assert corral("port", "ls").out.splitlines() == [
        "PORT   AGENT       NAME          LISTENS  PID  COMMAND",
        "20250  api                       no",
        "20251  api         web           yes      71   node server.js \ufffd[2J",
        "8080   api         (not leased)  yes      72   httpd",
        "20250  (no agent)  (not leased)  yes      9    nginx",
    ]
    assert corral("port", "ls", "--json").json == ROWS


def test_agents_of_several_teams_are_told_apart(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/ports", document([ROW, {**ROW, "team": "toys"}]))
    assert [line.split()[1] for line in corral("port", "ls").out.splitlines()[1:]] == ["shop/api", "toys/api"]


def test_where_there_is_nothing_that_is_said(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/ports", document([]))
    outcome = corral("port", "ls")
    assert (outcome.code, outcome.out) == (0, "")


def test_one_number_is_printed(corral: Corral, daemon: FakeDaemon) -> None:
    answer: dict[str, object] = {"port": 20251, "name": "web", "agent": "api", "team": "shop"}
    daemon.answer("POST", "/v1/ports", document(answer))
    assert corral("port", "get", "web", "--agent", "shop/api").out == "20251\n"
    assert corral("port", "get", "web", "--agent", "shop/api", "--json").json == answer


def test_an_empty_name_is_none(corral: Corral, daemon: FakeDaemon) -> None:
    outcome = corral("port", "get", "", "--agent", "shop/api", "--json")
    assert (outcome.code, outcome.out, "empty name" in outcome.error["message"]) == (2, "", True)
    assert daemon.requests == []


def test_outside_of_an_agent_one_must_be_named(corral: Corral, daemon: FakeDaemon) -> None:
    assert corral("port", "get", "web").code == 2
    assert daemon.requests == []
