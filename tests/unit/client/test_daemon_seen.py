"""What the answer of a shared server's daemon means, or that there is none."""

import json

import pytest

from corral.client.daemon_seen import daemon_seen
from corral.domain.host_trouble import DaemonSeen
from corral.places import Places
from tests.unit.client.fake_daemon import FakeDaemon, document, refusal, whole


@pytest.fixture
def host(places: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setattr("corral.places.host_names.RUNTIME", places.runtime)
    return places


def test_one_that_answers_is_well(host: Places, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/health", document({"pid": 7, "audit": {"number": 1, "hash": "x"}}))
    assert daemon_seen(host) == DaemonSeen()


def test_one_that_is_not_there_is_told_of_also_where_nothing_is_up(host: Places) -> None:
    seen = daemon_seen(host)
    assert seen.absent is not None
    message, remedy = seen.absent
    assert message == "the daemon of this host is not running"
    assert "sudo systemctl start corral.service; journalctl" in remedy


@pytest.mark.parametrize(("status", "code"), [(409, "refused"), (500, "broken_trail"), (503, "unavailable")])
def test_one_that_refuses_is_told_of_in_its_words(host: Places, daemon: FakeDaemon, status: int, code: str) -> None:
    daemon.answer("GET", "/v1/health", refusal(status, code, "no room for the audit trail", "make room"))
    assert daemon_seen(host).refuses == ("no room for the audit trail", "make room")


def denial(rule: str) -> bytes:
    error = {"code": "denied", "message": f"denied by {rule}", "remedy": "ask root", "rule": rule}
    return whole(json.dumps({"error": error}).encode(), status=403)


def test_a_denial_is_an_answer_unless_nothing_was_decided(host: Places, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/health", denial("observer.health"))
    assert daemon_seen(host) == DaemonSeen(denied="denied by observer.health")
    daemon.answer("GET", "/v1/health", denial("no_policy"))
    assert daemon_seen(host).undecided == ("denied by no_policy", "ask root")
    daemon.answer("GET", "/v1/health", denial("timed_out"))
    undecided = daemon_seen(host).undecided
    assert undecided is not None
    assert "[policy] in /var/lib/corral/config.toml" in undecided[1]


def test_what_keeps_checkpoints_here_is_told(host: Places, daemon: FakeDaemon) -> None:
    audit = {"number": 1, "hash": "x", "not_shipped": "Read-only file system"}
    daemon.answer("GET", "/v1/health", document({"audit": audit}))
    assert daemon_seen(host) == DaemonSeen(not_shipped="Read-only file system")
