"""The client's bytes: what goes out, what comes in, and every way in which it can come in wrong."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.client import wire
from corral.client.wire import DaemonAbsentError, request, somebody_listens, stream, target
from corral.domain.errors import UnavailableError, WrongUseError
from corral.places import Places
from tests.unit.client.fake_daemon import FakeDaemon, Request, whole

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def asked(places: Places, seconds: float = 5.0) -> wire.Response:
    return request(places, "GET", "/x", seconds=seconds)


def lines(places: Places) -> list[bytes]:
    return list(stream(places, "GET", "/x", seconds=5.0)[1])


class TestRequest:
    def test_gives_status_headers_and_body(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/x", whole(b"hello", status=201))
        response = request(places, "POST", "/x", b"body", [("Accept", "text/plain")])
        assert (response.status, response.body) == (201, b"hello")
        assert response.headers["content-length"] == "5"
        sent = daemon.last
        assert (sent.version, sent.body) == ("HTTP/1.1", b"body")
        assert sent.headers == {
            "host": "corral",
            "content-length": "4",
            "connection": "close",
            "accept": "text/plain",
        }

    def test_a_body_without_a_length_ends_with_the_connection(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", [HEAD, b"a" * 100_000, b"b" * 100_000])
        assert len(asked(places).body) == 200_000

    def test_a_body_in_chunks_ends_with_the_last_of_them(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", [CHUNKED, b"5\r\nhello\r\n", b"7\r\n, world\r\n0\r\n\r\n"])
        assert asked(places).body == b"hello, world"

    def test_a_megabyte_goes_out_whole(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/x", lambda sent: whole(str(len(sent.body)).encode()))
        assert request(places, "POST", "/x", b"x" * (1 << 20)).body == b"1048576"

    def test_says_which_agent_asks(self, places: Places, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
        daemon.answer("GET", "/x", whole(b""))
        monkeypatch.setenv("CORRAL_TEAM", "shop")
        asked(places)
        assert "x-corral-agent" not in daemon.last.headers
        monkeypatch.setenv("CORRAL_AGENT", "builder-1")
        asked(places)
        assert daemon.last.headers["x-corral-agent"] == "shop/builder-1"

    def test_shows_the_credential_of_its_agent(
        self, places: Places, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        daemon.answer("GET", "/x", whole(b""))
        kept = tmp_path / "kept"
        monkeypatch.setenv("CORRAL_CREDENTIAL_FILE", str(kept))
        asked(places)
        assert "x-corral-credential" not in daemon.last.headers  # there is none any more, and the daemon says so
        kept.write_text("corral.i.shop.a.r.s\n")
        asked(places)
        assert daemon.last.headers["x-corral-credential"] == "corral.i.shop.a.r.s"

    @pytest.mark.parametrize("kept", [b"", b"\n", b"a\r\nX-Admin: yes", b"\xff\xfe", b"a\0b"])
    def test_what_cannot_be_a_credential_is_not_shown(
        self, places: Places, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: bytes
    ) -> None:
        daemon.answer("GET", "/x", whole(b""))
        path = tmp_path / "kept"
        path.write_bytes(kept)
        monkeypatch.setenv("CORRAL_CREDENTIAL_FILE", str(path))
        asked(places)
        assert "x-corral-credential" not in daemon.last.headers
        assert "x-admin" not in daemon.last.headers

    def test_a_pipe_in_the_place_of_a_credential_is_not_waited_for(
        self, places: Places, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        daemon.answer("GET", "/x", whole(b""))
        os.mkfifo(tmp_path / "pipe")
        monkeypatch.setenv("CORRAL_CREDENTIAL_FILE", str(tmp_path / "pipe"))
        asked(places)
        assert "x-corral-credential" not in daemon.last.headers

    def test_a_variable_cannot_smuggle_in_a_header(
        self, places: Places, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        daemon.answer("GET", "/x", whole(b""))
        monkeypatch.setenv("CORRAL_TEAM", "shop")
        monkeypatch.setenv("CORRAL_AGENT", "x\r\nX-Admin: yes")
        asked(places)
        assert "x-admin" not in daemon.last.headers

    def test_an_early_refusal_is_read_although_not_everything_was_sent(self, places: Places) -> None:
        with early_answer(places, whole(b"too much", status=413)):
            response = request(places, "POST", "/x", b"x" * (8 << 20))
        assert (response.status, response.body) == (413, b"too much")


class early_answer:  # noqa: N801 - reads as a statement
    """A server that answers and closes without having read the body."""

    def __init__(self, places: Places, answer: bytes) -> None:
        import threading

        os.makedirs(os.path.dirname(places.daemon_socket))
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(places.daemon_socket)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, args=(answer,))

    def _serve(self, answer: bytes) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.recv(10)
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_RD)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listener.close()


class TestAbsence:
    def test_no_socket(self, places: Places) -> None:
        with pytest.raises(DaemonAbsentError):
            asked(places)
        assert not somebody_listens(places)

    def test_a_socket_that_nobody_listens_at(self, places: Places) -> None:
        os.makedirs(os.path.dirname(places.daemon_socket))
        with socket.socket(socket.AF_UNIX) as left_over:
            left_over.bind(places.daemon_socket)
        with pytest.raises(DaemonAbsentError):
            asked(places)
        with pytest.raises(DaemonAbsentError):
            stream(places, "GET", "/x")

    def test_somebody_listens(self, places: Places, daemon: FakeDaemon) -> None:
        assert somebody_listens(places)

    def test_a_path_that_is_no_socket_is_not_absence(self, places: Places) -> None:
        os.makedirs(os.path.dirname(places.daemon_socket))
        os.symlink("daemon.sock", places.daemon_socket)
        with pytest.raises(UnavailableError, match="cannot connect to"):
            asked(places)

    def test_a_path_too_long_for_a_socket_names_the_variable(self) -> None:
        with pytest.raises(WrongUseError) as caught:
            asked(Places("/tmp/h", "/tmp/" + "r" * 110))
        assert "CORRAL_RUNTIME_DIR" in caught.value.remedy


class TestBrokenAnswers:
    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (b"", "never came"),
            (b"HTTP/1.1 200", "ended before it began"),
            (b"HTTP/1.1 200 OK\r\nContent-Le", "ended before it began"),
            (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not one of a Corral daemon"),
            (b"HTTP/1.1 abc\r\n\r\n", "not one of a Corral daemon"),
            (CHUNKED + b"four\r\n", "not one of a Corral daemon"),
            (CHUNKED + b"1" * 100_000, "not one of a Corral daemon"),
            (b"x" * 70_000, "not one of a Corral daemon"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour", "ended after 4 of 10 bytes"),
        ],
    )
    def test_is_unavailable_and_says_how(self, places: Places, daemon: FakeDaemon, answer: bytes, message: str) -> None:
        daemon.answer("GET", "/x", answer)
        with pytest.raises(UnavailableError, match=message):
            asked(places)

    def test_longer_than_any_honest_answer(
        self, places: Places, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "LARGEST_ANSWER", 1 << 20)
        daemon.answer("GET", "/x", [HEAD, *[b"x" * (1 << 19)] * 3])
        with pytest.raises(UnavailableError, match="longer than 1 MiB"):
            asked(places)

    def test_no_answer_in_time(self, places: Places) -> None:
        os.makedirs(os.path.dirname(places.daemon_socket))
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(places.daemon_socket)
            silent.listen()
            with pytest.raises(UnavailableError, match=r"did not answer within 0\.05 s"):
                asked(places, seconds=0.05)
            with pytest.raises(UnavailableError, match="did not answer"):
                stream(places, "GET", "/x", seconds=0.05)

    def test_an_answer_that_drips_is_bounded_as_a_whole(self, places: Places, daemon: FakeDaemon) -> None:
        def drip(_: Request) -> Iterator[bytes]:
            yield HEAD
            while True:
                yield b"."

        daemon.answer("GET", "/x", drip)
        with pytest.raises(UnavailableError, match="did not answer within"):
            asked(places, seconds=0.1)

    def test_no_place_in_the_queue(self, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire, "CONNECT_SECONDS", 0.05)
        os.makedirs(os.path.dirname(places.daemon_socket))
        with socket.socket(socket.AF_UNIX) as stuck, socket.socket(socket.AF_UNIX) as first:
            stuck.bind(places.daemon_socket)
            stuck.listen(0)
            first.connect(places.daemon_socket)
            with pytest.raises(UnavailableError, match="has not taken a connection"):
                asked(places)


class TestStream:
    def test_lines_however_they_are_cut(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", [HEAD + b"on", b"e\ntw", b"o\n\nthr", b"ee\n"])
        assert lines(places) == [b"one", b"two", b"three"]

    def test_lines_in_chunks_however_they_are_cut(self, places: Places, daemon: FakeDaemon) -> None:
        whole_answer = CHUNKED + b"6\r\none\ntw\r\n2\r\no\n\r\n9\r\n\r\n0\r\n\r\n3\n\r\n0\r\n\r\n"
        for size in range(1, len(whole_answer)):
            parts = [whole_answer[at : at + size] for at in range(0, len(whole_answer), size)]
            daemon.answer("GET", "/x", parts)
            assert lines(places) == [b"one", b"two", b"\r", b"0\r", b"\r", b"3"]

    def test_a_line_comes_out_before_the_next_is_there(self, places: Places, daemon: FakeDaemon) -> None:
        ours, theirs = socket.socketpair()

        def in_turns(_: Request) -> Iterator[bytes]:
            yield HEAD
            yield b"first\n"
            theirs.recv(1)
            yield b"second\n"

        daemon.answer("GET", "/x", in_turns)
        with ours, theirs:
            _, received = stream(places, "GET", "/x")
            assert next(received) == b"first"
            ours.send(b".")
            assert list(received) == [b"second"]

    def test_a_long_line(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", HEAD + b"x" * 3_000_000 + b"\nend\n")
        assert [len(line) for line in lines(places)] == [3_000_000, 3]

    def test_cut_off_in_a_line(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", HEAD + b'{"a": 1}\n{"b": ')
        _, received = stream(places, "GET", "/x")
        assert next(received) == b'{"a": 1}'
        with pytest.raises(UnavailableError, match="middle of a line"):
            next(received)

    def test_a_line_without_end(self, places: Places, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire, "LARGEST_ANSWER", 1 << 20)
        daemon.answer("GET", "/x", [HEAD, *[b"x" * (1 << 19)] * 4])
        with pytest.raises(UnavailableError, match="a line of more than 1 MiB"):
            lines(places)

    def test_a_refusal_has_its_body_and_no_lines(self, places: Places, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/x", whole(b"no\nno\n", status=404))
        response, received = stream(places, "GET", "/x")
        assert (response.status, response.body, list(received)) == (404, b"no\nno\n", [])


class TestTarget:
    def test_leaves_out_what_is_none(self) -> None:
        assert target("/v1/agents", [("team", None)]) == "/v1/agents"

    def test_quotes_values(self) -> None:
        assert target("/v1/x", [("cwd", "/a b&c=ü"), ("n", "1")]) == "/v1/x?cwd=/a%20b%26c%3D%C3%BC&n=1"

    def test_keeps_the_bytes_of_a_path_that_is_no_utf8(self) -> None:
        assert target("/v1/x", [("cwd", os.fsdecode(b"/\xff"))]) == "/v1/x?cwd=/%FF"


@pytest.mark.parametrize("said", [b"", b"\x15\x03\x03\x00\x02\x02\x0a"], ids=["nothing", "an alert"])
def test_who_asks_a_port_of_tls_in_the_clear_is_told_of_https(
    places: Places, said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("t0k3n\n")
    token.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        monkeypatch.setenv("CORRAL_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("CORRAL_TOKEN_FILE", str(token))

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UnavailableError) as told:
            asked(places)
        thread.join()
    assert f"https://127.0.0.1:{port}" in told.value.remedy
