"""Recordings of one agent's terminal on disk: asciicast v2 files, each of which can be played by itself.

A file is named after its beginning and its run. It is written in bursts and never changed afterwards; what a kill cut
off is at most the last line, which every reader leaves out.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections import deque
from collections.abc import Mapping
from contextlib import suppress

from corral.domain import asciicast
from corral.domain.errors import NotFoundError
from corral.domain.masking import Masker
from corral.ports.casts import CastRest, RecordingShown

_NAME = re.compile(r"([0-9]{13})-([0-9a-f]{12})\.cast")
_ID = re.compile(r"[0-9]{13}-[0-9a-f]{12}")
#: A file that is longer is followed by another one; a quarter of what may be kept, if that is less.
_LONGEST_FILE = 16 << 20
_PIECE = 256 << 10
#: Output that comes within so many seconds is one event, if it is not longer than so many bytes: a file has place for
#: whole events only. Written down, a byte takes six at most.
_TOGETHER = 0.004
_LONGEST_EVENT = 16 << 10


class CastFile:
    """See `ports.casts.Cast`."""

    def __init__(self, path: str, *, title: str, began: float, size: tuple[int, int], masker: Masker, longest: int):
        #: See `Cast.id`.
        self.id = os.path.basename(path).removesuffix(".cast")
        self._path = path
        self._began = began
        self._masker = masker
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._longest = longest
        self._written = 0
        #: What is to be written: the bytes of output as they came, and events.
        self._taken: list[tuple[float, bytes]] = []
        self._events: deque[asciicast.Event] = deque()
        #: What the terminal had when the last was written.
        self._size = size
        self._header = asciicast.header(columns=size[0], rows=size[1], began=began, title=title)
        #: When the last output came.
        self._last = began
        self._descriptor: int | None = None

    def output(self, at: float, data: bytes) -> None:
        """See `Cast.output`. On the path of every byte that is shown: what it means is found out when it is written."""
        self._taken.append((at, data))

    def resized(self, at: float, columns: int, rows: int) -> None:
        """See `Cast.resized`."""
        self._other(at, asciicast.RESIZE, f"{columns}x{rows}")

    def marked(self, at: float, text: str) -> None:
        """See `Cast.marked`."""
        self._other(at, asciicast.MARKER, text)

    def limit(self, max_size: int) -> bool:
        """See `Cast.limit`."""
        self._longest = _longest(max_size)
        return self._written > self._longest

    @property
    def full(self) -> bool:
        """See `Cast.full`."""
        return bool(self._events)

    def flush(self) -> None:
        """See `Cast.flush`."""
        self._digest()
        self._put(self._longest)

    def take_rest(self) -> CastRest:
        """See `Cast.take_rest`."""
        self._digest()
        begun, flags = self._utf8.getstate()
        self._utf8.setstate((b"", flags))
        rest = CastRest(self._size, tuple(self._events), begun + self._masker.take_back(), self._last)
        self._events.clear()
        return rest

    def carry_on(self, rest: CastRest) -> None:
        """See `Cast.carry_on`."""
        self._events.extend(rest.events)
        if rest.held:
            self.output(rest.held_at, rest.held)

    def close(self) -> None:
        """See `Cast.close`."""
        self._digest()
        rest = self._utf8.decode(self._masker.finish(), final=True)
        if rest:
            self._events.append((self._last, asciicast.OUTPUT, rest))
        try:
            self._put(None)
        finally:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _other(self, at: float, kind: str, text: str) -> None:
        self._digest()
        self._events.append((at, kind, text))

    def _digest(self) -> None:
        """Make events of the output that was taken."""
        pieces: list[bytes] = []
        began, length = 0.0, 0
        for at, data in self._taken:
            if pieces and (at - began > _TOGETHER or length + len(data) > _LONGEST_EVENT):
                self._event(began, b"".join(pieces))
                pieces, length = [], 0
            if not pieces:
                began = at
            pieces.append(data)
            length += len(data)
        if pieces:
            self._event(began, b"".join(pieces))
        self._taken.clear()

    def _event(self, at: float, data: bytes) -> None:
        self._last = at
        for start in range(0, len(data), _LONGEST_EVENT):
            text = self._utf8.decode(self._masker.feed(data[start : start + _LONGEST_EVENT]))
            if text:
                self._events.append((at, asciicast.OUTPUT, text))

    def _put(self, place: int | None) -> None:
        """Write events while there is place for them; one at least, so that the rest of them gets shorter."""
        # Until something of it is on the disk, whatever is written begins with the header.
        lines = [] if self._written else [self._header]
        length, first = self._written + sum(map(len, lines)), not self._written
        while self._events:
            at, kind, text = self._events[0]
            line = asciicast.event(at - self._began, kind, text)
            if place is not None and length + len(line) > place and not first:
                break
            self._events.popleft()
            if kind == asciicast.RESIZE:
                self._size = asciicast.size_of(text) or self._size
            lines.append(line)
            length, first = length + len(line), False
        if not lines:
            return
        try:
            self._write(b"".join(lines))
        except OSError:
            self._events.clear()
            raise

    def _write(self, block: bytes) -> None:
        if self._descriptor is None:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            # Not followed and not shared: whatever is there is not ours.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
        view = memoryview(block)
        while view:
            done = os.write(self._descriptor, view)
            self._written += done
            view = view[done:]


def _longest(max_size: int) -> int:
    return min(_LONGEST_FILE, max_size // 4) if max_size else _LONGEST_FILE


class CastBook:
    """See `ports.casts.Casts`."""

    def __init__(self, directory: str, title: str) -> None:
        self._directory = directory
        self._title = title

    def begin(
        self, *, run: str, at: float, size: tuple[int, int], secrets: Mapping[str, str], max_size: int
    ) -> CastFile:
        """See `Casts.begin`."""
        milliseconds = int(at * 1000)
        while os.path.exists(path := os.path.join(self._directory, f"{milliseconds:013d}-{run}.cast")):
            milliseconds += 1
        masker, longest = Masker(secrets.values()), _longest(max_size)
        return CastFile(path, title=self._title, began=at, size=size, masker=masker, longest=longest)

    def listed(self) -> list[RecordingShown]:
        """See `Casts.listed`."""
        found = []
        with suppress(FileNotFoundError), os.scandir(self._directory) as entries:
            for entry in entries:
                if match := _NAME.fullmatch(entry.name):
                    with suppress(FileNotFoundError):
                        known = entry.stat(follow_symlinks=False)
                        if not stat.S_ISREG(known.st_mode):
                            continue
                        found.append(
                            RecordingShown(
                                id=entry.name.removesuffix(".cast"),
                                began=int(match[1]) / 1000,
                                ended=known.st_mtime,
                                bytes=known.st_size,
                            )
                        )
        return sorted(found, key=lambda one: one.id)

    def read(self, recording: str, after: int) -> bytes:
        """See `Casts.read`."""
        gone = NotFoundError(f"there is no recording {recording}", "corral replay --list AGENT shows what there is")
        if not _ID.fullmatch(recording):
            raise gone
        try:
            path = os.path.join(self._directory, f"{recording}.cast")
            # Not waited for: the agent's user can put a pipe there.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            raise gone from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise gone
            return os.pread(descriptor, _PIECE, after)
        finally:
            os.close(descriptor)

    def sweep(self, *, older_than: float, max_size: int, spare: str) -> int:
        """See `Casts.sweep`."""
        there = self.listed()
        total = sum(one.bytes for one in there)
        gone = 0
        for one in there:
            if one.id == spare or (one.ended >= older_than and total <= max_size):
                continue
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._directory, f"{one.id}.cast"))
            total -= one.bytes
            gone += 1
        return gone
