"""Requests that no client of ours would send, to a real daemon: it says what is wrong, and serves everybody else."""

import json
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.instance import Instance
from tests.support.waiting import wait_for

GOOD = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
POST = b"POST /v1/kv?team=shop HTTP/1.1\r\nHost: x\r\n"
MALFORMED = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "zeros": b"\0" * 100 + b"\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\n\r\n",
    "no such method": b"EXPLODE /v1/health HTTP/1.1\r\n\r\n",
    "no path": b"GET ?x HTTP/1.1\r\nHost: x\r\n\r\n",
    "a tunnel": b"CONNECT corral:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a path that is no ASCII": b"GET /v1/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "a length and chunks": POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a length below zero": POST + b"Content-Length: -1\r\n\r\n",
    "a length beyond all": POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
    "a length in other digits": POST + b"Content-Length: \xb2\r\n\r\n",
    "a chunk beyond all": POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    "no chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a header without a name": b"GET /v1/health HTTP/1.1\r\n: x\r\n\r\n",
    "a NUL in a header": b"GET /v1/health HTTP/1.1\r\nX: a\0b\r\n\r\n",
    "HTTP of yesterday": b"GET /v1/health HTTP/1.0\r\n\r\n",
    "HTTP of tomorrow": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a body of the wrong size": POST + b"Connection: close\r\nContent-Length: 25000000000\r\n\r\n{",
}


@contextmanager
def daemon(instance: Instance) -> Iterator[str]:
    """The socket of a daemon without a team."""
    instance.run("daemon", "start")
    yield os.path.join(instance.runtime, "daemon.sock")


def connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(60)
    connection.connect(path)
    return connection


def said(connection: socket.socket) -> bytes:
    """Everything until the other end hangs up."""
    pieces = []
    try:
        while piece := connection.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:  # it hung up on what it had not read; what it said before counts
        assert pieces
    return b"".join(pieces)


def is_well(path: str) -> None:
    """Somebody else asks, and is served."""
    with connected(path) as other:
        other.sendall(LAST)
        assert said(other).startswith(b"HTTP/1.1 200 OK")


def resident(pid: int) -> int:
    """The memory of a process, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def test_what_is_malformed_is_refused_with_words_and_harms_nobody(instance: Instance) -> None:
    with daemon(instance) as path:
        for what, request in MALFORMED.items():
            with connected(path) as connection:
                connection.sendall(request)
                answer = said(connection)
            assert answer.startswith(b"HTTP/1.1 4"), (what, answer)
            assert b"Traceback" not in answer
            assert b".py" not in answer
            is_well(path)
        assert "Traceback" not in Path(instance.home, "daemon.log").read_text(encoding="utf-8")


def test_requests_in_one_breath_are_answered_in_their_order(instance: Instance) -> None:
    with daemon(instance) as path, connected(path) as connection:
        targets = [b"/v1/health" if number % 3 else b"/v1/no/such/%d" % number for number in range(300)]
        connection.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % target for target in targets) + LAST)
        statuses = [answer.split(b" ")[0] for answer in said(connection).split(b"HTTP/1.1 ")[1:]]
        assert statuses == [b"200" if target == b"/v1/health" else b"404" for target in targets] + [b"200"]


def test_whoever_hangs_up_in_the_middle_leaves_nothing(instance: Instance) -> None:
    with daemon(instance) as path:
        pid = instance.json("daemon", "status")["pid"]
        is_well(path)
        before = len(os.listdir(f"/proc/{pid}/fd"))
        for cut in (b"", b"G", GOOD[:-2], POST + b"Content-Length: 100\r\n\r\n{"):
            for _ in range(50):
                with connected(path) as connection:
                    connection.sendall(cut)
        is_well(path)
        wait_for(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before + 1, what="the connections are given back")


@pytest.mark.slow
def test_a_thousand_connections_that_say_nothing_or_half_keep_nobody_waiting(instance: Instance) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    many = min(1000, hard // 8 - 50)  # of those that a user may have
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, many + 500)), hard))
    try:
        with daemon(instance) as path, ExitStack() as stack:
            pid = instance.json("daemon", "status")["pid"]
            before = resident(pid)
            held = []
            for number in range(many):
                held.append(stack.enter_context(connected(path)))
                held[-1].sendall((b"", b"G", GOOD[:-2], POST + b"Content-Length: 9\r\n\r\n{")[number % 4])
            is_well(path)
            assert json.loads(instance.run("ps", "--json").stdout) == []
            # A head without an end is read up to a limit, by each of them.
            for connection in held[:100]:
                connection.setblocking(False)
                try:
                    connection.send(b"X-Y: " + b"y" * 200_000)
                except BlockingIOError:
                    continue
            is_well(path)
            assert resident(pid) - before < 200 << 20
            # Who is half done can still finish.
            held[-2].sendall(b"Connection: close\r\n\r\n")
            assert said(held[-2]).startswith(b"HTTP/1.1 200 OK")
        is_well(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
