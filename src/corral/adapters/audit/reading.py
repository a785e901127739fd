"""Reading the audit trail, while it is written to: entries in order, each once. Whether it holds is for `verifying`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from corral.adapters.audit.files import Directory, segment_name
from corral.domain import audit
from corral.domain.audit import LONGEST_LINE, Entry

Fits = Callable[[Entry], bool]


class Reader:
    """A place in the trail that moves on with what is read. Make it where it is used: it waits for the disk."""

    def __init__(self, path: str) -> None:
        self._directory = Directory.look(path)
        #: The segment, and how far in it; None before the first.
        self._segment: int | None = None
        self._offset = 0
        #: Where lines are that are no entries, and were left out: segment and offset.
        self._unreadable: set[tuple[int, int]] = set()

    @property
    def unreadable(self) -> int:
        """How many lines of what was looked at are no entries, and were left out."""
        return len(self._unreadable)

    def close(self) -> None:
        """Let go of the directory."""
        self._directory.close()

    def go_to(self, since: str) -> None:
        """Begin with the segment in which the first entry of that time or later is."""
        chosen = None
        for start in self._directory.numbers():
            first = next((audit.read(line) for line, ended in self._lines(start, 0) if ended), "")
            if chosen is not None and (isinstance(first, str) or first.note.time >= since):
                break
            chosen = start
        self._segment, self._offset = chosen, 0

    def go_behind(self, number: int) -> None:
        """Begin with the segment that has the entry after this one."""
        starts = [start for start in self._directory.numbers() if start <= number + 1]
        self._segment, self._offset = (starts[-1] if starts else None), 0

    def entries(self) -> Iterator[Entry]:
        """What is there from its place on. Asked again, what came since."""
        while True:
            starts = self._directory.numbers()
            if not starts:
                return
            if self._segment is None:
                self._segment = starts[0]
            # Asked before it is read to its end: once there is a later one, nothing is added to this.
            later = [start for start in starts if start > self._segment]
            for line, ended in self._lines(self._segment, self._offset):
                if not ended:
                    break  # it is just being written
                at = (self._segment, self._offset)
                self._offset += len(line) + 1
                entry = audit.read(line)
                if isinstance(entry, str):
                    self._unreadable.add(at)
                else:
                    yield entry
            if not later:
                return
            self._segment, self._offset = later[0], 0

    def last(self, count: int, fits: Fits) -> list[Entry]:
        """The last so many that fit, in order. Its place is behind them."""
        starts = self._directory.numbers()
        found: list[Entry] = []
        at = len(starts)
        end: tuple[int | None, int] | None = None
        while at and len(found) < count:
            at -= 1
            self._segment, self._offset = starts[at], 0
            until = starts[at + 1] if at + 1 < len(starts) else None
            page: deque[Entry] = deque(maxlen=count - len(found))
            for entry in self.entries():
                if until is not None and entry.number >= until:
                    break
                if fits(entry):
                    page.append(entry)
            found = [*page, *found]
            end = end or (self._segment, self._offset)
        if end is not None:
            self._segment, self._offset = end
        return found

    def _lines(self, start: int, offset: int) -> Iterator[tuple[bytes, bool]]:
        return self._directory.lines(segment_name(start), LONGEST_LINE, offset)
