"""Where git keeps branches that it has packed, in a repository that a user of agents works in.

git takes a lock beside that file whenever anything that could be in it is deleted, also a note of its own such as
`CHERRY_PICK_HEAD` after each commit. The user may not write in the git directory, where the file is. So while the
repository is shared it is in a directory of its own, and a link leads there: git takes the lock where a link leads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from corral.domain.errors import UnavailableError

_FILE = "packed-refs"
#: What git writes where there is nothing to write.
_NOTHING = b"# pack-refs with: peeled fully-peeled sorted \n"
#: The directory, below git's.
ELSEWHERE = "corral-packed-refs"


def place(common: str) -> str:
    """The directory that the file is in while the repository is shared."""
    return os.path.join(common, ELSEWHERE)


def move_out(common: str) -> None:
    """Have the file in that directory, which is there, if it is not: before anybody else may write there.

    There is always one then, if only of nothing: in its place the user could put another.
    """
    path, there = os.path.join(common, _FILE), os.path.join(place(common), _FILE)
    if os.path.islink(path):
        return
    with _locked(path):
        if not _copied(path, there):
            with open(there, "wb") as empty:
                empty.write(_NOTHING)
        new = f"{path}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        os.symlink(os.path.join(ELSEWHERE, _FILE), new)
        os.replace(new, path)


def move_back(common: str) -> None:
    """Have it where git makes it, and leave nothing of the directory."""
    path, there = os.path.join(common, _FILE), os.path.join(place(common), _FILE)
    if os.path.islink(path) and os.readlink(path) == os.path.join(ELSEWHERE, _FILE):
        with _locked(there):
            if _says_nothing(there) or not _copied(there, path):
                os.unlink(path)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(there)
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(place(common))


def _says_nothing(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_NOTHING) + 1) == _NOTHING


def _copied(path: str, to: str) -> bool:
    """Put a copy of the file in the place of what is there, whole; False if there is no such file."""
    try:
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    new = f"{to}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    with open(source, "rb") as before, open(new, "xb") as after:
        after.write(before.read())
        os.fchmod(after.fileno(), os.fstat(source).st_mode & 0o777)
        after.flush()
        os.fsync(after.fileno())
    os.replace(new, to)
    return True


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """As git locks it."""
    lock = f"{path}.lock"
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    except FileExistsError:
        raise UnavailableError(
            f"{lock} is there: another git is at work",
            "run it again when that is done, or remove the lock file if none is",
        ) from None
    try:
        yield
    finally:
        os.unlink(lock)
