"""A connection that is closed with no answer: whether the daemon is there still decides what that means."""

import os
from pathlib import Path

import pytest

from corral.client.answers import ask, begin
from corral.client.wire import DaemonAbsentError, request, stream
from corral.domain.errors import UnavailableError
from corral.places import Places
from tests.unit.client.dying_daemon import DyingDaemon
from tests.unit.client.fake_daemon import FakeDaemon, Request


@pytest.fixture
def used(places: Places) -> Places:
    """The instance, with teams that may be up."""
    places.create()
    Path(places.database).touch()
    return places


def test_who_only_reads_from_a_daemon_that_dies_is_told_that_it_is_absent(places: Places) -> None:
    with DyingDaemon(places.daemon_socket), pytest.raises(DaemonAbsentError):
        request(places, "GET", "/x")


def test_a_stream_of_a_daemon_that_dies_is_one_of_an_absent_daemon(places: Places) -> None:
    with DyingDaemon(places.daemon_socket), pytest.raises(DaemonAbsentError):
        stream(places, "GET", "/x")


def test_what_may_have_been_done_is_never_taken_for_what_was_not_asked(places: Places) -> None:
    with DyingDaemon(places.daemon_socket), pytest.raises(UnavailableError) as told:
        request(places, "POST", "/x", b"{}")
    assert told.value.message == "the daemon ended before it answered, and may have done what was asked"
    assert told.value.remedy == "corral daemon start; look whether it is done before you ask again"


def test_who_asks_through_the_usual_ways_gets_the_usual_error(used: Places) -> None:
    with DyingDaemon(used.daemon_socket), pytest.raises(UnavailableError) as told:
        ask(used, "GET", "/x")
    assert (told.value.message, told.value.remedy) == (
        "the daemon is not running; its agents may be",
        "corral daemon start",
    )


@pytest.mark.parametrize(("method", "said"), [("GET", "the daemon is not running"), ("POST", "may have done")])
def test_an_answer_that_is_taken_as_it_comes_is_an_error_for_people(used: Places, method: str, said: str) -> None:
    with DyingDaemon(used.daemon_socket):
        exchange = begin(used, method, "/x")
        while not exchange.over:
            exchange.receive()
        with pytest.raises(UnavailableError, match=said):
            exchange.response()
        exchange.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_daemon_that_is_still_there_is_not_absent(places: Places, daemon: FakeDaemon, method: str) -> None:
    daemon.answer(method, "/x", b"")
    with pytest.raises(UnavailableError, match="never came") as told:
        request(places, method, "/x")
    assert "corral daemon status" in told.value.remedy


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_socket_that_cannot_be_looked_at_is_no_proof(places: Places, daemon: FakeDaemon, method: str) -> None:
    def closed(_: Request) -> bytes:
        os.unlink(places.daemon_socket)
        os.symlink("daemon.sock", places.daemon_socket)
        return b""

    daemon.answer(method, "/x", closed)
    with pytest.raises(UnavailableError, match="never came"):
        request(places, method, "/x")
