"""Answers as JSON: documents, records, errors, and streams that end too early."""

from pathlib import Path

import pytest

from corral.client.answers import Record, ask, concluded, records, stream_was_cut
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError
from corral.places import Places
from tests.unit.client.fake_daemon import FakeDaemon, document, refusal, stream, whole


class TestAsk:
    def test_gives_the_document(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/x", document({"a": 1}))
        assert ask(places, "POST", "/x", {"b": "ü"}) == {"a": 1}
        assert daemon.last.json() == {"b": "ü"}
        assert daemon.last.headers["content-type"] == "application/json"

    def test_sends_bytes_as_they_are(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/x", document({}))
        ask(places, "POST", "/x", b"a\nb;")
        assert daemon.last.body == b"a\nb;"

    def test_raises_the_error_that_the_daemon_names(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", refusal(409, "refused", "held by somebody", "wait"))
        with pytest.raises(RefusedError, match="held by somebody") as caught:
            ask(places, "GET", "/x")
        assert caught.value.remedy == "wait"

    def test_an_error_without_an_object_is_a_failure_with_its_text(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", whole(b"Internal Server Error", status=500))
        with pytest.raises(CorralError, match="answered 500: Internal Server Error"):
            ask(places, "GET", "/x")

    def test_what_is_no_json_object_is_unavailable(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", whole(b"[1"))
        with pytest.raises(UnavailableError, match="not what it should be"):
            ask(places, "GET", "/x")

    def test_without_a_daemon_nothing_is_up(self, places: Places) -> None:
        with pytest.raises(NotFoundError, match="no team is up"):
            ask(places, "GET", "/x")


class TestRecords:
    def test_come_in_order(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", stream({"n": 1}, {"n": 2}))
        assert list(records(places, "GET", "/x")) == [{"n": 1}, {"n": 2}]

    def test_an_error_record_is_raised_where_it_stands(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", stream({"n": 1}, {"error": {"code": "not_found", "message": "m", "remedy": "r"}}))
        received = records(places, "GET", "/x")
        assert next(received) == {"n": 1}
        with pytest.raises(NotFoundError):
            next(received)


class TestConcluded:
    def test_ends_with_the_result(self) -> None:
        work: list[Record] = [{"progress": {}}, {"result": {"a": 1}}]
        assert list(concluded(iter(work))) == work

    def test_without_a_result_the_daemon_went_away(self) -> None:
        with pytest.raises(UnavailableError, match="went away before the work was done"):
            list(concluded(iter([{"progress": {}}])))


class TestCut:
    def test_of_ones_own_daemon(self, places: Places) -> None:
        assert stream_was_cut(places).remedy == "corral daemon start, then run it again"

    def test_of_a_shared_server_it_may_be_there_again_or_shut(
        self, own_directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("corral.places.host_names.RUNTIME", str(own_directory))
        places = Places(str(own_directory / "h"), str(own_directory))
        told = stream_was_cut(places)
        assert isinstance(told, UnavailableError)
        assert told.remedy == "run it again; if the daemon is not there: sudo systemctl start corral.service"
        Path(places.daemon_socket).touch()
        monkeypatch.setattr("os.access", lambda *_: False)
        told = stream_was_cut(places)
        assert isinstance(told, RefusedError)
        assert "no member of this host any more" in told.message
        assert "corral daemon" not in told.remedy

    def test_of_another_host_nobody_starts_one_here(self, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CORRAL_URL", "https://far.example")
        assert stream_was_cut(places).remedy == "run it again"
