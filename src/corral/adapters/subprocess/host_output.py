"""The output of one process on its way to the disk: the first bytes and the last ones are kept, and none is copied.

`splice` moves what is in the pipe into the file at hand. A disk that does not take it makes a gap of exactly that
size; the process is never held up. An empty file behind the gap says how far it goes, so the directory tells all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections import deque

from corral.adapters.subprocess import segments

#: The most that is moved in one go.
CHUNK = 1 << 20
#: A disk that took nothing is asked again after so many seconds.
AGAIN_SECONDS = 1.0
#: A tail is cut by a part of this share. A file takes its time to be made.
_TAIL_PARTS = 4
_SMALLEST_SEGMENT = 1 << 16
_SPLICE_NONBLOCK = 2
#: What is read at once where a file system cannot be spliced to.
_COPY = 1 << 16


class Ledger:
    """Bytes of output on the disk, of several processes together."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0


class Output:
    """What a process wrote so far, and where more of it goes."""

    __slots__ = (
        "_again",
        "_copies",
        "_directory",
        "_file",
        "_keep_head",
        "_keep_tail",
        "_ledger",
        "_null",
        "_room",
        "_segment",
        "_size",
        "_start",
        "_tail",
        "end",
        "kept",
        "position",
        "trouble",
    )

    def __init__(self, directory: str, keep_head: int, keep_tail: int, ledger: Ledger, null: int) -> None:
        self._directory = directory
        self._keep_head = keep_head
        self._keep_tail = keep_tail
        self._ledger = ledger
        #: Where bytes go that nobody can keep.
        self._null = null
        self._segment = max(keep_tail // _TAIL_PARTS, _SMALLEST_SEGMENT)
        #: The file at hand, where it begins, what is in it and what it still takes.
        self._file = -1
        self._start: int | None = None
        self._size = 0
        self._room = 0
        #: Start and size of the files behind the head; the last may be the one at hand.
        self._tail: deque[tuple[int, int]] = deque()
        self._copies = False
        self._again = 0.0
        #: Bytes that are on the disk.
        self.kept = 0
        #: Bytes that it wrote, kept or not.
        self.position = 0
        #: As far as the directory tells of them.
        self.end = 0
        #: Why nothing is recorded now; empty when all is well.
        self.trouble = ""

    def go_on(self) -> None:
        """Begin where an earlier host ended."""
        for start, size in segments.sizes(self._directory):
            self._start, self._size = start, size
            if start >= self._keep_head:
                self._tail.append((start, size))
            self.position = self.end = start + size
            self.kept += size
        self._ledger.total += self.kept

    def take(self, pipe: int) -> int:
        """Move what is in the pipe, a chunk at most; how many bytes. 0 is the end of it. Raises `BlockingIOError`.

        To be called when there is something in it: a file is made for it.
        """
        if self._copies:
            data = os.read(pipe, _COPY)
            self.add(data)
            return len(data)
        if self._can_record():
            try:
                count = os.splice(pipe, self._file, min(self._room, CHUNK), flags=_SPLICE_NONBLOCK)
            except BlockingIOError:
                raise
            except OSError as error:
                if error.errno == errno.EINVAL:
                    self._copies = True  # a file system that cannot be spliced to
                    return self.take(pipe)
                self._give_up(error)
            else:
                self._recorded(count)
                return count
        count = os.splice(pipe, self._null, CHUNK, flags=_SPLICE_NONBLOCK)
        self.position += count
        return count

    def add(self, data: bytes) -> None:
        """The same for bytes that somebody had to read: a terminal cannot be spliced from."""
        view = memoryview(data)
        while view and self._can_record():
            try:
                count = os.write(self._file, view[: self._room])
            except OSError as error:
                self._give_up(error)
            else:
                self._recorded(count)
                view = view[count:]
        self.position += len(view)

    def settle(self) -> None:
        """Have the directory tell how far the output goes, also where the end of it could not be kept."""
        if self.end != self.position:
            self._begin_segment()

    def drop_oldest(self) -> bool:
        """Leave out the oldest part of the tail; false if only the one at hand is left."""
        if len(self._tail) < 2:
            return False
        start, size = self._tail.popleft()
        self._remove(start)
        self._count(-size)
        return True

    def close(self) -> None:
        """No more will come."""
        self.settle()
        self._let_go()

    def forget(self) -> None:
        """Remove all of it."""
        self._let_go()
        self._count(-self.kept)
        for start in segments.starts(self._directory):
            self._remove(start)
        if os.path.isdir(self._directory):
            os.rmdir(self._directory)

    def _can_record(self) -> bool:
        """True if a file is at hand that takes something. While there is trouble, one is looked for now and then."""
        if not self.trouble:
            return self._room > 0 or self._begin_segment()
        now = time.monotonic()
        if now < self._again:
            return False
        self._again = now + AGAIN_SECONDS
        return self._begin_segment()

    def _recorded(self, count: int) -> None:
        if count:
            self.trouble = ""
        self._room -= count
        self._size += count
        self.position += count
        self.end = self.position
        self._count(count)
        if self._start is not None and self._start >= self._keep_head:
            self._tail[-1] = (self._start, self._size)
            while sum(size for _, size in self._tail) - self._tail[0][1] >= self._keep_tail and self.drop_oldest():
                pass

    def _begin_segment(self) -> bool:
        """Have a file at hand that begins at the position; an empty one that does not is renamed."""
        self._let_go()
        in_tail = self.position >= self._keep_head
        try:
            self._file = self._opened()
        except OSError as error:
            self._give_up(error)
            return False
        self._start, self._size = self.position, 0
        self._room = self._segment if in_tail else self._keep_head - self.position
        if in_tail:
            self._tail.append((self.position, 0))
        self.end = self.position
        return True

    def _opened(self) -> int:
        path, flags = f"{self._directory}/{segments.name(self.position)}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        if self._start is not None and not self._size:
            with contextlib.suppress(FileNotFoundError):  # somebody else removed it
                os.rename(f"{self._directory}/{segments.name(self._start)}", path)
            if self._tail and self._tail[-1][0] == self._start:
                self._tail.pop()
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            os.mkdir(self._directory, 0o700)
            return os.open(path, flags, 0o600)

    def _give_up(self, error: OSError) -> None:
        self._let_go()
        self._again = time.monotonic() + AGAIN_SECONDS
        self.trouble = f"its output is not recorded: {error.strerror or error}"

    def _let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file, self._room = -1, 0

    def _remove(self, start: int) -> None:
        with contextlib.suppress(FileNotFoundError):  # that it is not there is all that is wanted
            os.unlink(f"{self._directory}/{segments.name(start)}")

    def _count(self, size: int) -> None:
        self.kept += size
        self._ledger.total += size
