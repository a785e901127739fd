"""The git repository that a directory is in, found by looking: no git is needed and nothing is started."""

import os
import re
from dataclasses import dataclass

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: A reference may name another; a longer chain is a circle.
_LONGEST_CHAIN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """A repository on disk."""

    #: Its top level: the directory with `.git` in it, or the bare repository itself.
    top: str
    #: True if HEAD names a commit, so that worktrees can be made of it.
    has_commit: bool


def repository_of(directory: str) -> Repository | None:
    """The repository that `directory` (absolute) is in or is, or None."""
    while True:
        git_dir = _git_dir(directory)
        if git_dir is not None:
            return Repository(top=directory, has_commit=_has_commit(git_dir))
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def _git_dir(directory: str) -> str | None:
    """Where the repository whose top level `directory` is keeps its things; None if it is no top level."""
    inside = os.path.join(directory, ".git")
    if os.path.isfile(inside):
        # A worktree or a submodule: the file says where.
        label, _, path = _read(inside).partition(":")
        inside = os.path.join(directory, path.strip()) if label == "gitdir" else inside
    if _looks_like_git(inside):
        return inside
    # From within `.git` the way leads on to the top level.
    is_bare = os.path.basename(directory) != ".git" and _looks_like_git(directory)
    return directory if is_bare and os.path.isdir(os.path.join(directory, "objects")) else None


def _looks_like_git(path: str) -> bool:
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return False
    return os.path.isdir(os.path.join(_common_dir(path), "refs"))


def _common_dir(git_dir: str) -> str:
    """What all worktrees of a repository share: its branches and objects."""
    path = _read(os.path.join(git_dir, "commondir")).strip()
    return os.path.normpath(os.path.join(git_dir, path)) if path else git_dir


def _has_commit(git_dir: str) -> bool:
    common = _common_dir(git_dir)
    if os.path.isdir(os.path.join(common, "reftable")):
        # References in a format of their own. Objects are there from the first commit on.
        return _has_objects(os.path.join(common, "objects"))
    value = _read(os.path.join(git_dir, "HEAD")).strip()
    for _ in range(_LONGEST_CHAIN):
        if _OBJECT_ID.fullmatch(value):
            return True
        label, _, name = value.partition(":")
        name = name.strip()
        if label != "ref" or not name:
            return False
        value = (_read(os.path.join(git_dir, name)) or _read(os.path.join(common, name))).strip()
        if not value:
            return _is_packed(common, name)
    return False


def _is_packed(common: str, name: str) -> bool:
    try:
        with open(os.path.join(common, "packed-refs"), encoding="utf-8", errors="replace") as file:
            return any(line.rstrip("\n").partition(" ")[2] == name for line in file)
    except OSError:
        return False


def _has_objects(objects: str) -> bool:
    try:
        found = os.listdir(objects)
        return any(len(name) == 2 for name in found) or bool(os.listdir(os.path.join(objects, "pack")))
    except OSError:
        return False


def _read(path: str) -> str:
    """The text of a small file; empty if it is missing, unreadable or no file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(4096)
    except OSError:
        return ""
