"""Small text files in directories that others can meddle with: never reached through a link, never waited for, and
written whole or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator

from corral.domain.errors import RefusedError

#: More than any honest file.
LARGEST = 1 << 20


@contextlib.contextmanager
def directory(path: str, *, inside: int | None = None) -> Iterator[int]:
    """A directory, held open. Below another one it is made if it is not there, and no link is followed to it."""
    flags = os.O_RDONLY | os.O_DIRECTORY
    if inside is not None and path:
        flags |= os.O_NOFOLLOW
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, dir_fd=inside)
    try:
        handle = os.open(path or ".", flags, dir_fd=inside)
    except NotADirectoryError:
        raise _refused(path, "a link, or no directory") from None
    try:
        yield handle
    finally:
        os.close(handle)


def read(inside: int, name: str) -> tuple[str, int | None]:
    """The text of a file and its mode; no text and no mode if it is not there. Raises `RefusedError` if it is none."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=inside)
    except FileNotFoundError:
        return "", None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _refused(name, "a link") from None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise _refused(name, "no file")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    finally:
        os.close(handle)
    if len(data) > LARGEST:
        raise _refused(name, f"longer than {LARGEST} bytes")
    try:
        return data.decode(), stat.S_IMODE(info.st_mode)
    except UnicodeDecodeError:
        raise _refused(name, "not UTF-8") from None


def write(inside: int, name: str, text: str, mode: int | None) -> None:
    """Put the text in the place of the file; without a mode, with that of any new file."""
    new = f".{name}.{secrets.token_hex(4)}"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=inside)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            if mode is not None:
                os.fchmod(handle, mode)
            file.write(text)
            file.flush()
            os.fsync(handle)
        os.rename(new, name, src_dir_fd=inside, dst_dir_fd=inside)
    except BaseException:
        os.unlink(new, dir_fd=inside)
        raise


def _refused(name: str, what: str) -> RefusedError:
    return RefusedError(f"{name} is {what}, and Corral leaves such alone", "put an ordinary one of its own there")
