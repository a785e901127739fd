"""A request whose answer is taken as it comes."""

import select
import threading
from collections.abc import Iterator

import pytest

from corral.client.answers import ask_for_list, begin
from corral.client.exchange import Exchange
from corral.client.wire import DaemonAbsentError
from corral.domain.errors import NotFoundError, UnavailableError
from corral.places import Places
from tests.unit.client.fake_daemon import FakeDaemon, Request, document, refusal, whole


def test_lines_are_there_as_soon_as_they_have_come(places: Places, daemon: FakeDaemon) -> None:
    go_on = threading.Event()

    def answer(_: Request) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: app"
        yield b"lication/x-ndjson\r\n\r\n{1}\n{2"
        go_on.wait()
        yield b"}\n\n{3}\n"

    daemon.answer("GET", "/v1/x", answer)
    exchange = Exchange(places, "GET", "/v1/x")
    lines: list[bytes] = []
    while not lines:
        exchange.receive()
        lines += exchange.lines()
    assert (lines, exchange.status, exchange.over) == ([b"{1}"], 200, False)
    assert not select.select([exchange], [], [], 0)[0]
    go_on.set()
    while not exchange.over:
        exchange.receive()
        lines += exchange.lines()
    assert lines == [b"{1}", b"{2}", b"{3}"]
    exchange.close()


def test_a_whole_answer_once_it_is_over(places: Places, daemon: FakeDaemon) -> None:
    daemon.answer("POST", "/v1/x", refusal(409, "refused", "no", "wait"))
    exchange = Exchange(places, "POST", "/v1/x", b"abc", (("Content-Type", "text/plain"),))
    while not exchange.over:
        exchange.receive()
    assert exchange.response().status == 409
    assert (daemon.last.body, daemon.last.headers["content-type"]) == (b"abc", "text/plain")
    exchange.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"])
def test_an_answer_that_is_cut_short(places: Places, daemon: FakeDaemon, answer: bytes) -> None:
    daemon.answer("GET", "/v1/x", answer)
    exchange = Exchange(places, "GET", "/v1/x")
    while not exchange.over:
        exchange.receive()
    with pytest.raises(UnavailableError):
        exchange.response()
    exchange.close()


def test_without_a_daemon(places: Places) -> None:
    with pytest.raises(DaemonAbsentError):
        Exchange(places, "GET", "/v1/x")
    with pytest.raises(NotFoundError):
        begin(places, "GET", "/v1/x")
    with pytest.raises(NotFoundError):
        ask_for_list(places, "GET", "/v1/x")


def test_a_list(places: Places, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/x", document([{"a": 1}, {"b": 2}]))
    assert ask_for_list(places, "GET", "/v1/x") == [{"a": 1}, {"b": 2}]
    for strange in (document({"a": 1}), whole(b"[")):
        daemon.answer("GET", "/v1/x", strange)
        with pytest.raises(UnavailableError):
            ask_for_list(places, "GET", "/v1/x")
