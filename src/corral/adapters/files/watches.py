"""Being told when files change, by the kernel: inotify, over the C library that Python runs on.

A user has only so many instances of it, so there is one a process, and only while some file is watched.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable

#: <sys/inotify.h>
_MODIFY, _MOVE_SELF, _DELETE_SELF, _IGNORED, _OVERFLOW = 0x2, 0x800, 0x400, 0x8000, 0x4000
_WATCHED = _MODIFY | _MOVE_SELF | _DELETE_SELF
#: Of a directory: something in it came, went or got another name.
_IN_IT = 0x40 | 0x80 | 0x100 | 0x200 | _MOVE_SELF | _DELETE_SELF
_EVENT = struct.Struct("iIII")
_MOST_READ = 64 << 10

#: Called for each change of a file; True once it is gone, or another has its name, and nothing more will be told.
Changed = Callable[[bool], None]

_libc = ctypes.CDLL(None, use_errno=True)


class FileWatches:
    """Watches files, for one event loop. The same file may be watched many times."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        #: By the kernel's number of each watched file, whom to tell.
        self._watchers: dict[int, list[Changed]] = {}

    def watch(self, path: str, changed: Changed) -> Callable[[], None]:
        """Have `changed` called when the file changes. What is returned ends that. OSError if it cannot be watched."""
        return self._watch(path, _WATCHED, changed)

    def watch_directory(self, path: str, changed: Changed) -> Callable[[], None]:
        """As `watch`, for what is in a directory: when something comes, goes, or takes the place of another."""
        return self._watch(path, _IN_IT, changed)

    def _watch(self, path: str, what: int, changed: Changed) -> Callable[[], None]:
        try:
            number = _checked(_libc.inotify_add_watch(self._opened(), os.fsencode(path), what))
        except OSError:
            self._close_if_unused()
            raise
        self._watchers.setdefault(number, []).append(changed)

        def end() -> None:
            watchers = self._watchers.get(number, [])
            if changed in watchers:
                watchers.remove(changed)
                if not watchers:
                    del self._watchers[number]
                    _libc.inotify_rm_watch(self._descriptor, number)
                    self._close_if_unused()

        return end

    def _close_if_unused(self) -> None:
        if self._descriptor is not None and not self._watchers:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._descriptor is None:
            self._descriptor = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self._descriptor

    def _read(self) -> None:
        assert self._descriptor is not None
        try:
            data = os.read(self._descriptor, _MOST_READ)
        except BlockingIOError:
            return
        seen: dict[int, int] = {}
        offset = 0
        while offset < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, offset)
            offset += _EVENT.size + length
            seen[number] = seen.get(number, 0) | mask
        if any(mask & _OVERFLOW for mask in seen.values()):
            # Some changes were not told: each file may have.
            seen = dict.fromkeys(self._watchers, _MODIFY) | seen
        for number, mask in seen.items():
            gone = bool(mask & (_MOVE_SELF | _DELETE_SELF | _IGNORED))
            for changed in list(self._watchers.get(number, ())):
                changed(gone)
            if gone and self._watchers.pop(number, None) is not None and not mask & _IGNORED:
                _libc.inotify_rm_watch(self._descriptor, number)  # moved away: the kernel would go on
        self._close_if_unused()


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
