"""An answer goes out in one piece: its head and its body are one packet, and wake the reader once.

uvicorn writes them one after the other, and a transport that can write at once does so each time.
"""

from __future__ import annotations

import asyncio
from typing import Any


class OnePacket(asyncio.Transport):
    """A transport that writes what it is given in one turn of the event loop all at once, at the end of that turn."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `asyncio.WriteTransport`."""
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)

    def _flush(self) -> None:
        if self._pieces:
            pieces, self._pieces = self._pieces, []
            if not self._is_over():
                self._transport.writelines(pieces)

    def _is_over(self) -> bool:
        """Whether whoever was there has gone since: nothing more goes out, and that is no error."""
        return self._transport.is_closing() and not self._transport.get_write_buffer_size()

    def close(self) -> None:
        """See `asyncio.BaseTransport`: what was written before goes out."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """See `asyncio.WriteTransport`: nothing more goes out."""
        self._pieces.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return sum(map(len, self._pieces)) + self._transport.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()
