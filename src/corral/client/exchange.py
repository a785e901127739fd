"""A request whose answer is taken as it comes, by somebody who waits for other things as well."""

from corral.client.absence import error_of_absence
from corral.client.wire import Connection, DaemonAbsentError, Response, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from corral.places import Places


class Exchange:
    """A request that was sent. It has a descriptor to wait for (`fileno`), and no limit of time.

    Without a body, one goes out in pieces while the answer comes: `say`. `DaemonAbsentError` if nobody listens.
    """

    __slots__ = ("_connection", "_headers", "over", "status")

    def __init__(
        self,
        places: "Places",
        method: str,
        target: str,
        body: "bytes | None" = b"",
        headers: "Sequence[tuple[str, str]]" = (),
    ) -> None:
        self._connection = Connection(places, method, target, body, headers, None)
        self._headers: dict[str, str] = {}
        #: 0 until the head of the answer has come.
        self.status = 0
        #: The answer has come to its end.
        self.over = False

    def fileno(self) -> int:
        """What becomes readable when more of the answer has come."""
        return self._connection.socket.fileno()

    def close(self) -> None:
        self._connection.close()

    def say(self, data: bytes) -> None:
        """Send a piece of the body; waits until it is taken."""
        self._connection.send_chunk(data)

    def receive(self) -> None:
        """Take in more of the answer; waits for it if there is none yet."""
        connection = self._connection
        data = connection.receive()
        self.over = not data
        connection.buffer += data
        if not self.status and (head := connection.parsed_head()) is not None:
            self.status, self._headers = head

    def lines(self) -> "list[bytes]":
        """The lines that have come, each of them once."""
        if not self.status:
            return []
        *whole_lines, self._connection.buffer = self._connection.buffer.split(b"\n")
        return [line for line in whole_lines if line]

    def response(self) -> Response:
        """The whole answer, once it is over; `CorralError` if it is none, also of a daemon that has ended meanwhile."""
        if not self.status:
            from corral.client.unanswered import never_came

            error = never_came(self._connection)
            raise error_of_absence(self._connection.places) if isinstance(error, DaemonAbsentError) else error
        return whole(self.status, self._headers, self._connection.buffer)
