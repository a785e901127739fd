"""git's own lock on an agent's worktree: nobody removes, moves or prunes it in passing, also not with `--force`.

git refuses all of that while a file `locked` is in what it keeps for the worktree, and shows what is written in it;
only `--force` said twice goes past it. The file is written here and not by `git worktree lock`, which would be a
process for each worktree. A lock that a person set is theirs: it is neither written over nor taken away. The caller
holds the repository's turn (`worktrees.turn`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat

log = logging.getLogger("corral.keeper")

_FILE = "locked"
#: How what we write begins, and what a person writes does not.
_AGENT = "Corral's agent "
#: The second is git's, of a `worktree add` that a power cut broke off.
_OURS = (_AGENT, "initializing")
#: A person's reason is told in one line.
_LONGEST_REASON = 200


def lock(git_dir: str, team: str, agent: str) -> None:
    """Lock the worktree that git keeps `git_dir` for. Without the lock the agent can work all the same."""
    path = os.path.join(git_dir, _FILE)
    try:
        if os.path.lexists(path) and not _is_ours(path):
            return
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{_AGENT}{team}/{agent} works in it; corral rm and corral down remove it, and lose no work\n")
    except OSError as error:
        log.warning("cannot lock the worktree of %s/%s: %s", team, agent, error)


def unlock(git_dir: str) -> None:
    """Take our lock away, if it is there. Where that cannot be done, git says why when it has to do something."""
    path = os.path.join(git_dir, _FILE)
    with contextlib.suppress(OSError):
        if _is_ours(path):
            os.unlink(path)


def lock_of_others(git_dir: str) -> str:
    """A lock that is not ours, in words: whoever set it wants the worktree to stay. Empty if there is none."""
    try:
        said = _reason(os.path.join(git_dir, _FILE))
    except OSError:
        return ""
    if said.startswith(_OURS):
        return ""
    return f"a lock of somebody's ({said})" if said else "a lock of somebody's"


def _is_ours(path: str) -> bool:
    return _reason(path).startswith(_OURS)


def _reason(path: str) -> str:
    # An agent can put anything there: nothing is waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, encoding="utf-8", errors="replace") as file:
        return " ".join(file.read(_LONGEST_REASON).split()) if stat.S_ISREG(os.fstat(handle).st_mode) else ""
