"""The directory of the audit trail, and the files in it: never reached through a link, ours alone, only appended to.

| file | what |
|---|---|
| `NUMBER.jsonl` | a segment: entries, from that number on |
| `NUMBER.checkpoints` | the checkpoints that were signed while that segment was written |
| `anchor.json` | what was dropped |
| `signing.key`, `signing.pub` | the key that signs |

NUMBER has twenty digits, so that names sort as numbers do.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator

from corral.domain.errors import CorralError, NotFoundError, RefusedError

ENTRIES, CHECKPOINTS = ".jsonl", ".checkpoints"
ANCHOR_FILE = "anchor.json"
_DIGITS = 20
#: How often, and how many seconds apart, it is tried to become the one who writes.
_TRIES, _PAUSE = 20, 0.05
#: What a line may be longer than any that was written: the mark of one that a crash tore, twice.
_SLACK = 64
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def segment_name(number: int, kind: str = ENTRIES) -> str:
    """The file whose first entry has this number, or the one with its checkpoints."""
    return f"{number:0{_DIGITS}d}{kind}"


class Directory:
    """The directory, held open: what is done in it is done in this one, whatever becomes of its path."""

    def __init__(self, path: str, handle: int) -> None:
        self.path = path
        self.handle = handle

    @classmethod
    def make(cls, path: str) -> Directory:
        """The directory to write to, made if it is not there. `RefusedError` if others could write to it as well."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        directory = cls._open(path)
        info = os.fstat(directory.handle)
        if info.st_uid != os.geteuid() or info.st_mode & 0o077:
            directory.close()
            whose = f"belongs to uid {info.st_uid}" if info.st_uid != os.geteuid() else "is open to others"
            raise RefusedError(
                f"{path} {whose} (mode {stat.S_IMODE(info.st_mode):04o}), and an audit trail is its writer's alone",
                f"look who changed that; then: chmod 700 {path}",
            )
        return directory

    @classmethod
    def look(cls, path: str) -> Directory:
        """The directory to read from; `NotFoundError` if there is none."""
        try:
            return cls._open(path)
        except FileNotFoundError:
            raise NotFoundError(
                f"there is no audit trail: {path} does not exist",
                "enabled = true below [audit] in config.toml begins one (docs/howto/audit.md)",
            ) from None

    @classmethod
    def _open(cls, path: str) -> Directory:
        try:
            return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise RefusedError(
                    f"{path} is a link, or no directory, and an audit trail is not looked for through one",
                    "look who put it there, and move it away",
                ) from None
            if error.errno in (errno.EACCES, errno.EPERM):
                # Not as the daemon's user: that one is no member, so the daemon would not tell it how far it got.
                raise RefusedError(
                    f"you may not read {path}", "root may, by the same command behind sudo: sudo corral audit verify"
                ) from None
            raise

    def close(self) -> None:
        """Let go of it, and of its lock."""
        os.close(self.handle)

    def lock(self) -> None:
        """Be the only one who writes; `RefusedError` if another process is. Ends with `close`."""
        for _ in range(_TRIES):
            if self._locked(fcntl.LOCK_EX):
                return
            time.sleep(_PAUSE)  # somebody may only be looking whether it is written to
        raise RefusedError(f"another process writes to {self.path}", "stop the other daemon first")

    def is_written_to(self) -> bool:
        """True if some process is the one who writes."""
        if not self._locked(fcntl.LOCK_SH):
            return True
        fcntl.flock(self.handle, fcntl.LOCK_UN)
        return False

    def _locked(self, how: int) -> bool:
        try:
            fcntl.flock(self.handle, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def numbers(self, kind: str = ENTRIES) -> list[int]:
        """The first numbers of all segments, in order."""
        names = os.listdir(self.handle)
        stems = (name.removesuffix(kind) for name in names if name.endswith(kind))
        return sorted(int(stem) for stem in stems if len(stem) == _DIGITS and stem.isascii() and stem.isdigit())

    def path_of(self, number: int, kind: str = ENTRIES) -> str:
        """Where the file of a segment, or of its checkpoints, is for everybody else."""
        return os.path.join(self.path, segment_name(number, kind))

    def size(self, name: str) -> int:
        """The bytes of a file; 0 if it is not there."""
        try:
            return os.stat(name, dir_fd=self.handle, follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0

    def append_to(self, name: str, *, new: bool) -> int:
        """A file to append to, made (0600) if it is `new`. `RefusedError` if something else has its name."""
        flags = _APPEND | (os.O_CREAT | os.O_EXCL if new else 0)
        try:
            handle = os.open(name, flags, 0o600, dir_fd=self.handle)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EISDIR, errno.EEXIST):
                raise self._strange(name) from None
            raise
        try:
            self._check(name, handle)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _check(self, name: str, handle: int) -> None:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_nlink != 1:
            raise self._strange(name)
        if info.st_mode & 0o077:
            os.fchmod(handle, 0o600)

    def _strange(self, name: str) -> RefusedError:
        return RefusedError(
            f"{os.path.join(self.path, name)} is no file that this trail made", "look who put it there; keep a copy"
        )

    def unlink(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def put(self, name: str, data: bytes, mode: int = 0o600) -> None:
        """Put a small file in the place of the one of that name, whole or not at all, and on the disk."""
        new = f".{name}.new"
        self.unlink(new)
        handle = os.open(new, _APPEND | os.O_CREAT | os.O_EXCL, mode, dir_fd=self.handle)
        try:
            os.fchmod(handle, mode)
            write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(new, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        self.sync()

    def sync(self) -> None:
        """Return when the names of files are on the disk."""
        os.fsync(self.handle)

    def read(self, name: str, most: int) -> bytes | None:
        """A small file, at most so many bytes of it; None if it is not there."""
        handle = self.open(name)
        if handle is None:
            return None
        with open(handle, "rb") as file:
            return file.read(most)

    def open(self, name: str) -> int | None:
        """A file to read from; None if it is not there, `RefusedError` if it is none."""
        try:
            handle = os.open(name, _READ, dir_fd=self.handle)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise self._strange(name) from None
            if error.errno in (errno.EACCES, errno.EPERM):
                raise RefusedError(f"you may not read {os.path.join(self.path, name)}", "ask its owner") from None
            raise
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise self._strange(name)
        return handle

    def lines(self, name: str, longest: int, offset: int = 0) -> Iterator[tuple[bytes, bool]]:
        """The lines of a file from a position on, without their ends, and whether each has one; no line if it is gone.

        Of what is longer than any line can be, pieces come that have no end and are none either.
        """
        handle = self.open(name)
        if handle is not None:
            yield from lines_of(handle, longest, offset)


def lines_of(handle: int, longest: int, offset: int = 0) -> Iterator[tuple[bytes, bool]]:
    """As `Directory.lines`, of a file that is open, and is closed with the last line."""
    with open(handle, "rb", buffering=1 << 18) as file:
        file.seek(offset)
        while line := file.readline(longest + _SLACK):
            ended = line.endswith(b"\n")
            yield (line[:-1] if ended else line), ended


def write_all(handle: int, data: bytes) -> None:
    """Write all of it, whatever the kernel takes at once."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def cannot_be_written(path: str, error: OSError) -> CorralError:
    """What whoever wanted something audited is told: what cannot be written down is not done."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return RefusedError(
        f"the audit trail {path} cannot be written ({error.strerror}), and what cannot be audited is not done",
        "make room there" if full else "look at that directory and its disk, then restart the daemon",
    )
