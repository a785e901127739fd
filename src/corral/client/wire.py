"""Requests to the daemon over its unix socket: bytes out, bytes in.

This is on the path of `corral ps` and of every hook, so it loads one C module and nothing else.
"""

# Not `socket`: that wrapper pulls in selectors, enum and re and takes as long to load as the interpreter takes to
# start. `_socket` is the C module below it, with the same calls.
import _socket
import os
import sys
import time

from corral.domain.errors import UnavailableError, WrongUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    from corral.client.remote import Remote
    from corral.places import Places

    class Hold(Protocol):
        """Has the connection of a request while somebody waits for the answer: it can be ended from elsewhere."""

        def take(self, connection: _socket.socket) -> None: ...

        def leave(self) -> None: ...


CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
#: More than any honest answer; a peer that goes on and on is not our daemon.
LARGEST_ANSWER = 64 << 20
_LARGEST_HEAD = 64 << 10
_CHUNK = 1 << 16
#: The kernel counts milliseconds, and not many more than three weeks have. Beyond, Python would cut them off unseen.
_LONGEST_TIMEOUT = 20 * 86400.0

#: For whom this process asks, by what its environment says of that.
_SPOKEN_FOR: "dict[tuple[str | None, str | None, str | None], str]" = {}

#: A server reads no more than 64 KiB before the body of a request, and a byte may become three in a query.
_LONGEST_PARAMETER, _LONGEST_QUERY = 8 << 10, 48 << 10
#: No id has more letters.
LONGEST_ID = 100

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


class DaemonAbsentError(Exception):
    """Nobody listens at the instance's socket, and what was asked can be asked again without harm.

    What that means depends on the instance: see `client.absence`.
    """


class Response:
    """A whole answer. Header names are in lower case."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def target(path: str, parameters: "Iterable[tuple[str, str | None]]" = ()) -> str:
    """`path` with its query; a parameter that is None is left out. `WrongUseError` for what no server would read."""
    given = [(name, value) for name, value in parameters if value is not None]
    for name, value in given:
        if len(value) > _LONGEST_PARAMETER:
            raise WrongUseError(
                f"the {name} that was given has {len(value)} characters", f"at most {_LONGEST_PARAMETER} are taken"
            )
    query = "&".join(f"{name}={_quoted(value)}" for name, value in given)
    if len(query) > _LONGEST_QUERY:
        names = ", ".join(dict(given))
        raise WrongUseError(f"that is too much at once ({names}: {len(query)} bytes)", "give fewer of them at a time")
    return f"{path}?{query}" if query else path


def path_word(text: str) -> str:
    """What can be an id, as a part of a path: whatever else somebody gave must not lead to another one."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text[:LONGEST_ID]) or "-"


def request(
    places: "Places",
    method: str,
    target: str,
    body: bytes = b"",
    headers: "Sequence[tuple[str, str]]" = (),
    seconds: "float | None" = ANSWER_SECONDS,
    hold: "Hold | None" = None,
) -> Response:
    """The whole answer, whatever its status.

    `DaemonAbsentError` if nobody listens; `UnavailableError` if the answer is not complete after `seconds`. None is for
    an answer that may take for ever.
    """
    connection = Connection(places, method, target, body, headers, seconds)
    try:
        if hold is not None:
            hold.take(connection.socket)
        status, answered = connection.head()
        content = connection.rest()
    finally:
        if hold is not None:
            hold.leave()
        connection.close()
    return whole(status, answered, content)


def stream(
    places: "Places",
    method: str,
    target: str,
    body: bytes = b"",
    headers: "Sequence[tuple[str, str]]" = (),
    seconds: float = ANSWER_SECONDS,
) -> "tuple[Response, Iterator[bytes]]":
    """An answer line by line, as the lines come.

    The head must come within `seconds`; between lines there may be any length of time. An answer that refuses
    (status 400 or more) is read to its end: it has its body in the response, and no lines.
    """
    connection = Connection(places, method, target, body, headers, seconds)
    try:
        status, answered = connection.head()
        if status >= 400:
            refusal = Response(status, answered, connection.rest())
            connection.close()
            return refusal, iter(())
    except BaseException:
        connection.close()
        raise
    return Response(status, answered, b""), connection.lines()


def somebody_listens(places: "Places") -> bool:
    """True if a daemon takes connections at the instance's socket. Asks it nothing. One of another host is not asked:
    it is not ours to start.
    """
    if is_remote():
        return True
    try:
        _connect(places).close()
    except DaemonAbsentError:
        return False
    return True


class Connection:
    """One request and its answer; the server closes after it."""

    __slots__ = ("buffer", "chunks", "deadline", "method", "places", "seconds", "socket")

    def __init__(
        self,
        places: "Places",
        method: str,
        target: str,
        body: "bytes | None",
        headers: "Sequence[tuple[str, str]]",
        seconds: "float | None",
    ) -> None:
        """Without a body, one is sent later in pieces, each as a chunk: `send_chunk`."""
        self.places = places
        self.method = method
        self.seconds = seconds
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.buffer = b""
        #: For an answer that comes in chunks, as streams do.
        self.chunks: Chunks | None = None
        remote = remote_daemon()
        self.socket = _connect(places) if remote is None else remote.connect(CONNECT_SECONDS)
        try:
            self.send(_head(method, target, None if body is None else len(body), headers, remote) + (body or b""))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.settimeout(self.remaining())
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise self.late() from None
        except (BrokenPipeError, ConnectionResetError):
            # A server may refuse a request before it has read all of it; its answer says why.
            return

    def send_chunk(self, data: bytes) -> None:
        """A piece of a body that has no end yet."""
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def receive(self, *, bounded: bool = True) -> bytes:
        """The next bytes; none at the end."""
        while True:
            self.socket.settimeout(self.remaining() if bounded else None)
            try:
                data = self.socket.recv(_CHUNK)
            except TimeoutError:
                raise self.late() from None
            except ConnectionResetError:
                # It closed without having read all that we sent: what it said before that still counts.
                return b""
            if self.chunks is None or not data:
                return data
            if content := self.chunks.feed(data):
                return content

    def head(self) -> tuple[int, dict[str, str]]:
        while (head := self.parsed_head()) is None:
            data = self.receive()
            if not data:
                from corral.client.unanswered import never_came

                raise never_came(self)
            self.buffer += data
        return head

    def parsed_head(self) -> "tuple[int, dict[str, str]] | None":
        """Status and headers, taken from what has come; None if they are not all there yet."""
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > _LARGEST_HEAD:
                raise broken("is not one of a Corral daemon")
            return None
        first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
        self.buffer = self.buffer[end + 4 :]
        version, _, rest = first.partition(" ")
        status = rest[:3]
        if not version.startswith("HTTP/1.") or not (status.isascii() and status.isdigit() and len(status) == 3):
            raise broken("is not one of a Corral daemon")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("transfer-encoding") == "chunked":
            self.chunks = Chunks()
            self.buffer = self.chunks.feed(self.buffer)
        return int(status), headers

    def rest(self) -> bytes:
        """What comes until the end."""
        parts, size = [self.buffer], len(self.buffer)
        while data := self.receive():
            parts.append(data)
            size += len(data)
            if size > LARGEST_ANSWER:
                raise broken(f"is longer than {LARGEST_ANSWER >> 20} MiB")
        return b"".join(parts)

    def lines(self) -> "Iterator[bytes]":
        """Lines without their ends, empty ones left out; a last line without an end was cut off."""
        try:
            pending = [self.buffer]
            size = len(self.buffer)
            data = self.buffer
            while True:
                if b"\n" in data:
                    *whole, tail = b"".join(pending).split(b"\n")
                    yield from (line for line in whole if line)
                    pending, size = [tail], len(tail)
                elif size > LARGEST_ANSWER:
                    raise broken(f"has a line of more than {LARGEST_ANSWER >> 20} MiB")
                data = self.receive(bounded=False)
                if not data:
                    break
                pending.append(data)
                size += len(data)
            if size:
                raise broken("was cut off in the middle of a line")
        finally:
            self.close()

    def remaining(self) -> "float | None":
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise self.late()
        return left if left < _LONGEST_TIMEOUT else None

    def late(self) -> UnavailableError:
        return UnavailableError(
            f"the daemon did not answer within {self.seconds:g} s",
            "it may be busy or stuck: `corral daemon status` tells, daemon.log in CORRAL_HOME says why",
        )


class Chunks:
    """Takes an answer in chunks apart: each has its size in a line before it, and an empty line behind it."""

    __slots__ = ("_left", "_unread")

    def __init__(self) -> None:
        #: Of the chunk that is being read, with the end of its line. 0: a size comes next.
        self._left = 0
        self._unread = b""

    def feed(self, data: bytes) -> bytes:
        """What the chunks have in them, as far as they have come."""
        data = self._unread + data
        found, at = [], 0
        while at < len(data):
            if self._left:
                piece = data[at : at + self._left]
                # The last two bytes of it are the end of its line.
                found.append(piece[: max(self._left - 2, 0)])
                self._left -= len(piece)
                at += len(piece)
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            try:
                # The last one is empty, and nothing comes behind it.
                self._left = int(data[at:end], 16) + 2
            except ValueError:
                raise broken("is not one of a Corral daemon") from None
            at = end + 2
        self._unread = data[at:]
        if len(self._unread) > _LARGEST_HEAD:
            raise broken("is not one of a Corral daemon")
        return b"".join(found)


def whole(status: int, headers: dict[str, str], content: bytes) -> Response:
    """The answer, or that it was cut short."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) != len(content):
        raise broken(f"ended after {len(content)} of {length} bytes")
    return Response(status, headers, content)


def is_remote() -> bool:
    """True if the environment names the daemon of another host: `CORRAL_URL`."""
    return bool(os.environ.get("CORRAL_URL"))


def remote_daemon() -> "Remote | None":
    """The daemon of another host, if the environment names one."""
    if not is_remote():
        return None
    from corral.client.remote import Remote

    return Remote(os.environ["CORRAL_URL"])


def _connect(places: "Places") -> "_socket.socket":
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        # With settimeout() the connect would fail at once where the listener's queue is full; the kernel's own
        # send time-out waits for a place in it.
        connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, _timeval(CONNECT_SECONDS))
        connection.connect(places.daemon_socket)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        connection.close()
        raise DaemonAbsentError from None
    except BlockingIOError:
        connection.close()
        raise UnavailableError(
            f"the daemon has not taken a connection for {CONNECT_SECONDS:g} s",
            "it may be stuck: daemon.log in CORRAL_HOME says why",
        ) from None
    except OSError as error:
        connection.close()
        places.check_length()
        raise UnavailableError(
            f"cannot connect to {places.daemon_socket}: {error.strerror or error}",
            "check whose it is, or set CORRAL_RUNTIME_DIR to a directory of your own",
        ) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _timeval(seconds: float) -> bytes:
    word = 8 if sys.maxsize > 1 << 32 else 4
    whole = int(seconds)
    micro = int((seconds - whole) * 1_000_000)
    return whole.to_bytes(word, sys.byteorder) + micro.to_bytes(word, sys.byteorder)


def _head(
    method: str, target: str, length: "int | None", headers: "Sequence[tuple[str, str]]", remote: "Remote | None"
) -> bytes:
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    host = ["Host: corral"] if remote is None else remote.head()
    lines = [f"{method} {target} HTTP/1.1", *host, size, "Connection: close"]
    caller = _caller()
    # A name is always plain; anything else is not one, and must not become a header of its own.
    if caller and caller.isascii() and caller.isprintable():
        lines.append(f"X-Corral-Agent: {caller}")
    path = os.environ.get("CORRAL_CREDENTIAL_FILE")
    if path and remote is None:  # it proves nothing anywhere else
        from corral.client.credential import shown

        if credential := shown(path):
            lines.append(f"X-Corral-Credential: {credential}")
    lines.extend(f"{name}: {value}" for name, value in headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def speak_for(caller: str) -> None:
    """Have the requests to come be in the name of this agent (TEAM/AGENT), or if it is empty of the person.

    It holds for as long as the environment says the same as now. Until somebody decides it, `CORRAL_TEAM` and
    `CORRAL_AGENT` are taken at their word.
    """
    _SPOKEN_FOR[_identity()] = caller


def _caller() -> str:
    identity = _identity()
    team, agent, _ = identity
    taken_at_its_word = f"{team}/{agent}" if team and agent else ""
    return _SPOKEN_FOR.get(identity, taken_at_its_word)


def _identity() -> "tuple[str | None, str | None, str | None]":
    return os.environ.get("CORRAL_TEAM"), os.environ.get("CORRAL_AGENT"), os.environ.get("CORRAL_INSTANCE")


def _quoted(value: str) -> str:
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in os.fsencode(value))


def broken(how: str) -> UnavailableError:
    """For an answer that is none."""
    return UnavailableError(
        f"the daemon's answer {how}", "`corral daemon status` tells whether it still runs; ask again if it does"
    )
