"""Frames between a daemon and a keeper: four bytes of length, then msgpack.

The same over a unix socket or a pipe. Requests and answers carry a number; reports by the keeper carry none.
"""

from __future__ import annotations

import asyncio
import struct

import msgspec

from corral.ports.record import Record
from corral.ports.reports import Report

_LENGTH = struct.Struct("!I")
#: A frame larger than this is a mistake or an attack; the connection ends.
MAX_FRAME = 64 * 1024 * 1024
#: So is a report that is larger than this: it says one thing, and nobody asked for it.
MAX_REPORT = 256 * 1024
#: Of a large frame, so much is taken at once.
_PIECE_BYTES = 1 << 18


class Call(Record, frozen=True, tag="call"):
    """A request; `arguments` is a map of the verb's own fields."""

    number: int
    verb: str
    arguments: msgspec.Raw


class Answer(Record, frozen=True, tag="answer"):
    """The answer to a call."""

    number: int
    value: msgspec.Raw


class Failure(Record, frozen=True, tag="failure"):
    """The call failed; `error` is the error object of the contract."""

    number: int
    error: dict[str, object]


class Told(Record, frozen=True, tag="told"):
    """Something happened that nobody asked for."""

    report: Report


Frame = Call | Answer | Failure | Told

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


def pack(value: object) -> msgspec.Raw:
    """A value as the inside of a frame."""
    return msgspec.Raw(_encoder.encode(value))


def encode(frame: Frame) -> bytes:
    """A whole frame."""
    body = _encoder.encode(frame)
    return _LENGTH.pack(len(body)) + body


class FrameReader:
    """The frames of a stream, one after the other."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()

    async def next(self) -> Frame:
        """The next frame. Raises EOFError (asyncio.IncompleteReadError) at the end, ValueError for nonsense."""
        buffer = self._buffer
        while True:
            if len(buffer) >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(buffer)
                if length > MAX_FRAME:
                    raise ValueError(f"a frame of {length} bytes")
                end = _LENGTH.size + length
                if len(buffer) >= end:
                    body = bytes(buffer[_LENGTH.size : end])
                    del buffer[:end]
                    frame: Frame = _decoder.decode(body)
                    if length > MAX_REPORT and isinstance(frame, Told):
                        raise ValueError(f"a report of {length} bytes")
                    return frame
            piece = await self._reader.read(_PIECE_BYTES)
            if not piece:
                raise asyncio.IncompleteReadError(bytes(buffer), None)
            buffer += piece
