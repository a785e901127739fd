"""A directory as it is, byte for byte, to prove that nobody touched it."""

import hashlib
import os
import stat
from pathlib import Path


def tree(root: str | os.PathLike[str]) -> dict[str, str]:
    """Every path below `root` with its kind, mode, time and content."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in [*names, *files]:
            path = os.path.join(directory, name)
            found[os.path.relpath(path, root)] = _fingerprint(path)
    return found


def _fingerprint(path: str) -> str:
    info = os.lstat(path)
    kind = stat.filemode(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return f"{kind} -> {os.readlink(path)}"
    if stat.S_ISREG(info.st_mode):
        return f"{kind} {info.st_mtime_ns} {hashlib.sha256(Path(path).read_bytes()).hexdigest()}"
    return kind


def working_tree(repo: str | os.PathLike[str]) -> dict[str, str]:
    """What a person sees of a repository: all but `.git`, and the index beside it."""
    found = {path: what for path, what in tree(repo).items() if path != ".git" and not path.startswith(".git/")}
    index = Path(repo, ".git", "index")
    if index.exists():
        found[".git/index"] = hashlib.sha256(index.read_bytes()).hexdigest()
    return found
