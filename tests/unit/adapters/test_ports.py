"""Ports as the kernel lists them, of sockets that this very process has."""

import os
import socket

import pytest

from corral.adapters.procfs.ports import Noted


def noted() -> Noted:
    notes = Noted()
    notes.note([os.getpid()])
    return notes


def named(notes: Noted) -> set[str]:
    return {residue.name for residue in notes.left() if residue.pid == os.getpid()}


def test_what_listens_is_named_until_it_is_closed() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", 0))
        names = {f"tcp 127.0.0.1:{tcp.getsockname()[1]}", f"udp 127.0.0.1:{udp.getsockname()[1]}"}
        notes = noted()
        assert names <= named(notes)
    assert not names & named(notes)


def test_a_connection_is_no_port_to_listen_on() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as question,
    ):
        question.connect(server.getsockname())
        theirs = {f"tcp 127.0.0.1:{client.getsockname()[1]}", f"udp 127.0.0.1:{question.getsockname()[1]}"}
        assert not theirs & named(noted())


def test_a_port_that_another_socket_took_over_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        place = first.getsockname()
        notes = noted()
    with socket.create_server(place):
        assert f"tcp 127.0.0.1:{place[1]}" in named(notes)


def test_a_port_that_was_seen_free_is_forgotten() -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        place = first.getsockname()
        notes = noted()
    assert f"tcp 127.0.0.1:{place[1]}" not in named(notes)
    with socket.create_server(place):
        assert f"tcp 127.0.0.1:{place[1]}" not in named(notes)


def test_the_order_of_bytes_is_the_machines() -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as one:
        try:
            one.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 here")
        one.listen()
        assert f"tcp [::1]:{one.getsockname()[1]}" in named(noted())
