"""What files are now: where they really are, and a stamp for their contents."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence

from corral.ports.files import SeenFile

#: The contents of larger files are not read: what the file system notes of them has to do.
_LARGEST_READ = 4 << 20


def look(cwd: str, paths: Sequence[str], tops: Sequence[str]) -> list[SeenFile]:
    """Each of the paths, relative ones from `cwd`, as it is when symbolic links are followed.

    With the top that it is below, the innermost of those named, and the path from there. Nothing is waited for, and
    nothing raises for whatever a path may be: what is no file has a stamp of its own.
    """
    # Longest first: a worktree may well be inside of the repository.
    real_tops = sorted(((os.path.realpath(top), top) for top in tops), key=lambda pair: len(pair[0]), reverse=True)
    return [_seen(os.path.join(cwd, path), real_tops) for path in paths]


def _seen(path: str, tops: Sequence[tuple[str, str]]) -> SeenFile:
    if "\0" in path or not os.path.isabs(path):
        return SeenFile(real=path)
    real = os.path.realpath(path)
    for real_top, top in tops:
        if real.startswith(real_top.rstrip("/") + "/"):
            below = os.path.relpath(real, real_top)
            return SeenFile(real=_as_text(real), top=top, below=_as_text(below), stamp=stamp(real))
    return SeenFile(real=_as_text(real))


def _as_text(path: str) -> str:
    """A path that can be sent: a name that is no UTF-8 is told with its bytes replaced, which `*` matches as well."""
    return os.fsencode(path).decode("utf-8", "replace")


def stamp(path: str) -> str:
    """Stands for the contents of a file: the same contents, the same stamp. Empty if there is no file.

    A hash of them, so that touching a file, or writing what it says already, is no change, and one of the same size in
    the same tick of the clock is. Of a file that is too large, or that we may not read, size, times and inode.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError:
        return _noted(path)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            return "no file"
        if info.st_size > _LARGEST_READ:
            return _of_status(info)
        hashed = hashlib.blake2b(digest_size=16)
        # It may grow while it is read; then it is another one anyway.
        while data := os.read(handle, _LARGEST_READ):
            hashed.update(data)
        return "hash " + hashed.hexdigest()
    except OSError:
        return _noted(path)
    finally:
        os.close(handle)


def _noted(path: str) -> str:
    try:
        return _of_status(os.lstat(path))
    except OSError:
        return ""


def _of_status(info: os.stat_result) -> str:
    return f"status {info.st_mtime_ns} {info.st_ctime_ns} {info.st_size} {info.st_ino}"
