"""The two languages that contestants over a socket speak, as barely as can be: what is measured is the other end."""

from __future__ import annotations

import socket


def connected(address: str) -> socket.socket:
    """A connection to a path, or to `HOST:PORT`."""
    if address.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
        return connection
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Http:
    """One connection that stays. A request is one packet; an answer says how long it is."""

    def __init__(self, address: str) -> None:
        self._socket = connected(address)

    def ask(self, packet: bytes) -> bytes:
        """The body of the answer to a request that is made already; an error ends the bench."""
        status, content = self.answer(packet)
        if status != 200:
            raise SystemExit(f"bench: {packet.partition(b' HTTP')[0].decode()}: {content.decode()}")
        return content

    def answer(self, packet: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        self._socket.sendall(packet)
        received = self._receive()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        head = received[:end].lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        parts, missing = [received[end + 4 :]], length - len(received) + end + 4
        while missing > 0:
            parts.append(self._receive())
            missing -= len(parts[-1])
        return int(head[9:12]), b"".join(parts)

    def _receive(self) -> bytes:
        data = self._socket.recv(1 << 20)
        if not data:
            raise SystemExit("bench: the server closed the connection")
        return data


def request(method: str, target: str, body: bytes = b"", agent: str = "") -> bytes:
    """A request as it goes out, of an agent of Corral's if it is one's."""
    whose = f"x-corral-agent: {agent}\r\n" if agent else ""
    head = f"{method} {target} HTTP/1.1\r\nhost: bench\r\n{whose}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Redis:
    """One connection that stays, for answers that come whole in one packet: ours are short."""

    def __init__(self, address: str) -> None:
        self._socket = connected(address)

    def ask(self, *words: str) -> bytes:
        """The answer as it comes; an error ends the bench."""
        parts = [f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]
        self._socket.sendall("".join(parts).encode())
        answer = self._socket.recv(1 << 16)
        if not answer or answer.startswith(b"-"):
            raise SystemExit(f"bench: redis: {' '.join(words)[:200]}: {answer.decode().strip()}")
        return answer
