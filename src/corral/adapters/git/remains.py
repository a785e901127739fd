"""What is left of a worktree that could only be removed in part: a file of root's, say, that a container left there.

git gives a worktree up before it has deleted the last file of it, and there is no way back. So what it leaves is marked
as ours: it held no work when its removal was begun, and whoever comes next goes on with that.
"""

from __future__ import annotations

import os
import shutil

#: In the directory itself, and the last of it to go.
_MARK = ".corral-remains"


def are_at(path: str) -> bool:
    """True if what is at `path` is such a rest."""
    return not os.path.islink(path) and os.path.lexists(os.path.join(path, _MARK))


def mark(path: str) -> None:
    """Have what is at `path` be known as such a rest, also by the next process."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(os.path.join(path, _MARK), flags, 0o600))


def clear(path: str) -> str:
    """Delete what can be deleted, and the directory itself with the last of it.

    Returns what cannot be, and why; empty if nothing is left. No link is followed.
    """
    problem = ""
    for name in os.listdir(path):
        if name != _MARK:
            problem = _delete(os.path.join(path, name)) or problem
    return problem or _delete(path)


def _delete(path: str) -> str:
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError as error:
        where = os.fsdecode(error.filename or path)
        # Below a directory, names are told as they are in theirs.
        return f"{where if os.path.isabs(where) else f'{where} in {path}'}: {error.strerror}"
    return ""
