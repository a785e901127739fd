"""Keeping a file of ours out of git's sight: in `info/exclude` of the repository, below a heading that says whose.

That file is in no commit, and is one for all worktrees of the repository. So a line in it stays no longer than one of
them has the file that it names: meanwhile it would hide a file of that name from others as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
from collections.abc import Callable, Collection, Iterator

from corral.adapters.files import small_files
from corral.domain.errors import CorralError
from corral.git import git

log = logging.getLogger("corral.keeper")

_HEADING = "# Corral is registered in these. A line goes with the last worktree that has such a file."
_FILE = "exclude"
_SPECIAL = re.compile(r"[\\*?\[ ]")


def in_a_worktree(directory: str) -> bool:
    """True if `directory` is somewhere in a git worktree. Nothing is run for it."""
    while not os.path.lexists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return False
        directory = above
    return True


def is_tracked(directory: str, path: str) -> bool:
    """True if `path`, relative to `directory`, is in git's index."""
    return bool(git(directory, "ls-files", "-z", "--", f":(literal){path}"))


def exclude(directory: str, path: str) -> None:
    """Have git not see the file at `path`, relative to `directory`, which need not be there yet."""
    prefix = git(directory, "rev-parse", "--show-prefix").removesuffix("\n")
    pattern = "/" + _SPECIAL.sub(r"\\\g<0>", prefix + path)
    _change(directory, lambda text: with_pattern(text, pattern))


def hidden(directory: str) -> list[str]:
    """The files in the worktree whose top `directory` is that git does not see because of our lines."""
    with _info(directory) as info:
        text, _ = small_files.read(info, _FILE)
    named = [_path(pattern) for pattern in patterns(text)]
    return [
        path for path in named if os.path.lexists(os.path.join(directory, path)) and not is_tracked(directory, path)
    ]


def drop_unused(directory: str) -> None:
    """Take out the lines for files that no worktree of the repository at `directory` has any more.

    Nobody is kept from anything by a line that stays: if this cannot be done, it is only noted in the log.
    """
    try:
        listing = git(directory, "worktree", "list", "--porcelain", "-z").split("\0")
        worktrees = [line.removeprefix("worktree ") for line in listing if line.startswith("worktree ")]

        def is_used(pattern: str) -> bool:
            return any(os.path.lexists(os.path.join(worktree, _path(pattern))) for worktree in worktrees)

        _change(directory, lambda text: without_patterns(text, [one for one in patterns(text) if not is_used(one)]))
    except (CorralError, OSError) as error:
        log.warning("lines of ours may stay in info/exclude of %s: %s", directory, error)


def patterns(text: str) -> list[str]:
    """The lines of ours in an exclude file. Pure."""
    lines = text.splitlines()
    if _HEADING not in lines:
        return []
    ours = lines[lines.index(_HEADING) + 1 :]
    return ours[: next((at for at, line in enumerate(ours) if not line.startswith("/")), len(ours))]


def with_pattern(text: str, pattern: str) -> str:
    """An exclude file with this line among ours. Pure."""
    if pattern in patterns(text):
        return text
    if _HEADING in text.splitlines():
        return text.replace(_HEADING + "\n", f"{_HEADING}\n{pattern}\n", 1)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{end}{_HEADING}\n{pattern}\n"


def without_patterns(text: str, unwanted: Collection[str]) -> str:
    """An exclude file without these of our lines; the heading goes with the last of them. Pure."""
    ours = patterns(text)
    block = "".join(f"{line}\n" for line in (_HEADING, *ours))
    kept = [line for line in ours if line not in unwanted]
    return text.replace(block, "".join(f"{line}\n" for line in (_HEADING, *kept)) if kept else "", 1) if ours else text


def _change(directory: str, change: Callable[[str], str]) -> None:
    """Change the exclude file of the repository that `directory` is in, one at a time."""
    with _info(directory) as info:
        fcntl.flock(info, fcntl.LOCK_EX)
        before, mode = small_files.read(info, _FILE)
        after = change(before)
        if after != before:
            small_files.write(info, _FILE, after, mode)


@contextlib.contextmanager
def _info(directory: str) -> Iterator[int]:
    """The directory of the exclude file. Git would follow links in the place of either, and an agent can put some."""
    common = git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir").removesuffix("\n")
    with small_files.directory(common) as top, small_files.directory("info", inside=top) as info:
        yield info


def _path(pattern: str) -> str:
    """The path below the top of a worktree that a line of ours names."""
    return re.sub(r"\\(.)", r"\1", pattern).lstrip("/")
