"""One connection to an HTTP server, for one exchange after the other."""

from __future__ import annotations

import asyncio

import httptools

#: A decision has some 200 bytes. Who sends more than this is no policy server.
_MOST_BYTES = 256 << 10


class NotAnAnswerError(ValueError):
    """What came is no answer. Its text says what it is, with nothing of the other side's words in it."""


class Connection:
    """A connection that is there. It is good for another exchange as long as `is_kept`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.is_kept = True

    async def exchange(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body that answer. EOFError if the other side ends it before, else NotAnAnswerError."""
        answer = _Answer()
        answer.parser = parser = httptools.HttpResponseParser(answer)
        self._writer.write(request)
        await self._writer.drain()
        received = 0
        while not answer.over:
            data = await self._reader.read(1 << 16)
            received += len(data)
            if not data:
                raise EOFError("the other side ended the connection")
            if received > _MOST_BYTES:
                raise NotAnAnswerError(f"it answered with more than {_MOST_BYTES} bytes")
            try:
                parser.feed_data(data)
            except httptools.HttpParserError as error:
                raise NotAnAnswerError("what it answered is no HTTP") from error
        self.is_kept = answer.is_kept
        return parser.get_status_code(), bytes(answer.body)

    def close(self) -> None:
        self._writer.close()


class _Answer:
    """What the parser calls back."""

    def __init__(self) -> None:
        self.parser: httptools.HttpResponseParser | None = None
        self.body = bytearray()
        self.is_kept = False
        self.over = False

    def on_headers_complete(self) -> None:
        # Once the answer is over, the parser is ready for the next one and does not know any more.
        self.is_kept = self.parser is not None and self.parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.over = True
