"""The output of one agent on disk: bounded, with the time of every piece, readable from any point.

A log is lines of JSON, `[time, text]`, after a first line that says how many bytes were rotated away before it. A
*cursor* is a position in all that was ever written; it stays true over rotation and over a restart of the keeper.

Where it is known how far in the output of a run a piece reaches, the line says so: `[time, text, run, position]`. Text
and position are on the disk together or not at all: whoever goes on recording leaves nothing out and repeats nothing.
"""

from __future__ import annotations

import codecs
import mmap
import os
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from corral.ports.output import LogEntry, LogPage

ROTATE_BYTES = 8 * 1024 * 1024
#: A page ends with the entry that brings it over this size.
_PAGE_BYTES = 1024 * 1024


class _Line(msgspec.Struct, array_like=True):
    """A piece of output as it stands in the file."""

    time: float
    text: str
    run: str = ""
    end: int = 0


_encoder = msgspec.json.Encoder()
_line_decoder = msgspec.json.Decoder(_Line)
_head_decoder = msgspec.json.Decoder(dict[str, int])


class LogBook:
    """Appends to and reads one log. Writing errors are the caller's to handle; reading never creates a file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending: list[bytes] = []
        self._descriptor: int | None = None
        self._base = 0
        self._size = 0

    def add(self, time: float, data: bytes, of: tuple[str, int] | None = None) -> None:
        """Take a piece of output; it reaches the disk with the next `flush`."""
        text = self._utf8.decode(data)
        if not text:
            return
        line: tuple[float | str, ...] = (round(time, 3), text)
        if of is not None:
            # The beginning of a character that is not complete yet is in none of the lines so far.
            run, end = of
            line = (*line, run, end - len(self._utf8.getstate()[0]))
        self._pending.append(_encoder.encode(line) + b"\n")

    def recorded(self, run: str) -> int:
        """See `Log.recorded`."""
        for segment in reversed(self._segments()):
            for raw in segment.lines_with(_encoder.encode(run)):
                line = _decode(raw)
                if line is not None and line.run == run:
                    return line.end
        return 0

    @property
    def dirty(self) -> bool:
        """True if there is something to flush."""
        return bool(self._pending)

    def flush(self) -> None:
        """Write what was added. Raises OSError and drops it if the disk does not take it."""
        block = b"".join(self._pending)
        self._pending.clear()
        if not block:
            return
        if self._descriptor is None:
            self._open()
        assert self._descriptor is not None
        try:
            self._size += _write_all(self._descriptor, block)
        except OSError:
            self.close()  # how much of it was written is found out when the file is opened again
            raise
        if self._size >= ROTATE_BYTES:
            self._rotate()

    def close(self) -> None:
        """Let go of the file; it can be opened again by the next flush."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def read(self, *, after: int | None, lines: int | None, since: float | None) -> LogPage:
        """A page of output: from a cursor on, or, with `after` None, the end of it.

        `lines` asks for at least that many lines of text if there are that many; `since` leaves out what is older.
        """
        segments = self._segments()
        if not segments:
            return LogPage(entries=[], next=after or 0)
        start = segments[0].base
        if after is None:
            after = self._tail_cursor(segments, lines) if lines is not None and since is None else start
        cut = after < start
        entries: list[LogEntry] = []
        cursor = max(after, start)
        taken = 0
        for segment in segments:
            for position, raw in segment.lines_from(cursor):
                line = _decode(raw)
                cursor = position + len(raw)
                if line is not None and (since is None or line.time >= since):
                    entries.append(LogEntry(time=line.time, text=line.text))
                    taken += len(raw)
                    if taken >= _PAGE_BYTES:
                        return LogPage(entries=entries, next=cursor, cut=cut)
        return LogPage(entries=entries, next=cursor, cut=cut)

    @staticmethod
    def _tail_cursor(segments: list[_Segment], lines: int) -> int:
        """The cursor from which on the text has at least `lines` line ends."""
        wanted = lines + 1
        for segment in reversed(segments):
            for position, raw in segment.lines_backwards():
                wanted -= raw.count(b"\\n")
                if wanted <= 0:
                    return position
        return segments[0].base

    def _segments(self) -> list[_Segment]:
        """The files that there are, the older one first."""
        before = _Segment(self._path + ".1")
        return [segment for segment in (before, _Segment(self._path, before.end)) if segment.exists]

    def _open(self) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        before = _Segment(self._path + ".1")
        segment = _Segment(self._path, before.end)
        if segment.headless:
            with open(self._path, "rb") as file:
                self._begin(segment.base, file.read())
        elif not segment.exists:
            self._begin(before.end)
        segment = _Segment(self._path)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            self._base, self._size = segment.base, segment.end - segment.base
            if segment.torn:
                # A full disk or a kill cut the last line; what comes now must not become part of it.
                self._size += _write_all(descriptor, b"\n")
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _begin(self, base: int, content: bytes = b"") -> None:
        """Put a file in its place that has its first line. Whole or not at all: without that line it is not a log."""
        new = self._path + ".new"
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                _write_all(descriptor, _encoder.encode({"base": base}) + b"\n" + content)
            finally:
                os.close(descriptor)
            os.replace(new, self._path)
        except OSError:
            with suppress(OSError):
                os.unlink(new)
            raise

    def _rotate(self) -> None:
        self.close()
        os.replace(self._path, self._path + ".1")
        self._open()


class _Segment:
    """One file of a log: its first line tells where in the whole it begins."""

    def __init__(self, path: str, begins_at: int | None = None) -> None:
        """`begins_at` is where it begins if its first line is not there to tell; None if that is not known."""
        self._path = path
        self.exists = False
        #: A full disk swallowed its first line. All others are there.
        self.headless = False
        #: The last line is not complete.
        self.torn = False
        self.base = 0
        self.end = 0
        try:
            with open(path, "rb") as file:
                head = file.readline()
                size = os.fstat(file.fileno()).st_size
                file.seek(max(size - 1, 0))
                self.torn = file.read(1) != b"\n"
        except FileNotFoundError:
            return
        if not head.endswith(b"\n"):
            return  # made but never written: a full disk
        try:
            self.base, self._head = _head_decoder.decode(head).get("base", 0), len(head)
        except msgspec.DecodeError:
            if begins_at is None:
                return
            self.base, self._head, self.headless = begins_at, 0, True
        self.end = self.base + size - self._head
        self.exists = True

    def lines_from(self, cursor: int) -> Iterator[tuple[int, bytes]]:
        """Complete lines from the cursor on, each with its own position."""
        position = max(cursor, self.base)
        if position >= self.end:
            return
        with open(self._path, "rb") as file:
            file.seek(self._head + position - self.base)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return  # the rest of it is not written yet
                yield position, raw
                position += len(raw)

    def lines_with(self, word: bytes) -> Iterator[bytes]:
        """Lines that have this in them, the last one first. In the text of a line no quote stands by itself."""
        if self.end == self.base:
            return
        with open(self._path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            end = self._head + self.end - self.base
            while (at := content.rfind(word, self._head, end)) >= 0:
                end = max(content.rfind(b"\n", self._head, at) + 1, self._head)
                yield content[end : content.find(b"\n", at) + 1 or None]

    def lines_backwards(self) -> Iterator[tuple[int, bytes]]:
        """Lines from the end to the beginning, each with its own position."""
        if self.end == self.base:
            return
        with open(self._path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            end = self._head + self.end - self.base
            while end > self._head:
                start = max(content.rfind(b"\n", self._head, end - 1) + 1, self._head)
                yield self.base + start - self._head, content[start:end]
                end = start


def _decode(raw: bytes) -> _Line | None:
    try:
        return _line_decoder.decode(raw)
    except msgspec.DecodeError:
        return None  # a line torn by a full disk or a power cut; the ones around it are whole


def _write_all(descriptor: int, data: bytes) -> int:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return len(data)
