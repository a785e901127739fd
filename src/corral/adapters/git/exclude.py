"""Keeping a file of ours out of git's sight: in `info/exclude` of the repository, below a heading that says whose.

That file is in no commit, and is one for all worktrees of the repository. So a line in it stays no longer than one of
them has the file that it names: meanwhile it would hide a file of that name from others as well. In somebody else's
repository it is not ours to change. There a worktree of ours has such a file for itself, by `core.excludesFile`.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from corral.adapters.files import small_files
from corral.adapters.git.sharing import is_ours
from corral.domain.errors import CorralError, RefusedError
from corral.git import git

log = logging.getLogger("corral.keeper")

_HEADING = "# Corral is registered in these. A line goes with the last worktree that has such a file."
_FILE = "exclude"
#: Of one worktree, in what git keeps for it.
_OWN_FILE, _SETTING = "corral-exclude", "core.excludesFile"
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
    place = _place(directory)
    if place.own:
        _be_asked(directory, place.path)
    _change(place, lambda text: with_pattern(text, pattern))


def hidden(directory: str) -> list[str]:
    """The files in the worktree whose top `directory` is that git does not see because of our lines."""
    place = _place(directory)
    with place.opened() as holder:
        text, _ = small_files.read(holder, place.name)
    named = [_path(pattern) for pattern in patterns(text)]
    return [
        path for path in named if os.path.lexists(os.path.join(directory, path)) and not is_tracked(directory, path)
    ]


def drop_unused(directory: str) -> None:
    """Take out the lines for files that no worktree of the repository at `directory` has any more.

    Nobody is kept from anything by a line that stays: if this cannot be done, it is only noted in the log.
    """
    try:
        place = _place(directory)
        if place.own:
            return  # it goes with the worktree
        listing = git(directory, "worktree", "list", "--porcelain", "-z").split("\0")
        worktrees = [line.removeprefix("worktree ") for line in listing if line.startswith("worktree ")]

        def is_used(pattern: str) -> bool:
            return any(os.path.lexists(os.path.join(worktree, _path(pattern))) for worktree in worktrees)

        _change(place, lambda text: without_patterns(text, [one for one in patterns(text) if not is_used(one)]))
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


@dataclass(frozen=True)
class _Place:
    """Where our lines are."""

    common: str
    #: What git keeps for the worktree, if the lines are its own; else empty, and they are the repository's.
    own: str = ""

    @property
    def name(self) -> str:
        return _OWN_FILE if self.own else _FILE

    @property
    def path(self) -> str:
        return os.path.join(self.own, self.name) if self.own else os.path.join(self.common, "info", self.name)

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """The directory of it. Git would follow links in the place of either, and an agent can put some."""
        if self.own:
            with small_files.directory(self.own) as holder:
                yield holder
        else:
            with small_files.directory(self.common) as top, small_files.directory("info", inside=top) as info:
                yield info


def _place(directory: str) -> _Place:
    named = git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir").splitlines()
    common, own = named
    return _Place(common) if is_ours(common) or own == common else _Place(common, own)


def _be_asked(directory: str, path: str) -> None:
    """Have git ask the file at `path` in this worktree. There is one such setting, and a person's own comes first."""
    said = git(directory, "config", "--default", "", "--get", _SETTING).strip()
    if said == path:
        return
    usual = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git", "ignore")
    theirs = said or (usual if os.path.lexists(usual) else "")
    if theirs:
        raise RefusedError(
            f"git is to ignore what {theirs} says, and it takes one such file",
            "put the names of files that Corral makes there as well",
        )
    git(directory, "config", "--worktree", _SETTING, path)


def _change(place: _Place, change: Callable[[str], str]) -> None:
    """Change the file, one at a time."""
    with place.opened() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        before, mode = small_files.read(holder, place.name)
        after = change(before)
        if after != before:
            small_files.write(holder, place.name, after, mode)


def _path(pattern: str) -> str:
    """The path below the top of a worktree that a line of ours names."""
    return re.sub(r"\\(.)", r"\1", pattern).lstrip("/")
