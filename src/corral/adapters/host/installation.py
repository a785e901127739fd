"""What is run when this very Corral is run: its Python, its virtual environment, its modules, and every way to them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator

from corral.domain.host_trust import Entry


def entries() -> Iterator[Entry]:
    """All of it, each once."""
    seen: set[str] = set()
    trees = [path for path in sys.path if path and os.path.exists(path)]
    if sys.prefix != sys.base_prefix:
        trees.append(sys.prefix)
    yield from _way(sys.executable, seen)
    for tree in trees:
        yield from _way(tree, seen)
        for directory, directories, files in os.walk(tree):
            for name in (*directories, *files):
                yield from _entry(os.path.join(directory, name), seen)


def ways(*paths: str) -> Iterator[Entry]:
    """The ways to these paths, which need not be there yet; each place once."""
    seen: set[str] = set()
    for path in paths:
        yield from _way(path, seen)


def cannot_load(module: str) -> str:
    """Why this Corral's Python cannot load a module, which is tried in a process of its own; empty if it can."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import {module}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    said = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else said[-1] if said else f"it ended with {done.returncode}"


def _way(path: str, seen: set[str]) -> Iterator[Entry]:
    """Everything that the kernel passes from the root to `path`, links and what they lead to included."""
    place = "/"
    yield from _entry(place, seen)
    for part in os.path.abspath(path).strip("/").split("/"):
        place = os.path.join(place, part)
        yield from _entry(place, seen)
        if os.path.islink(place):
            place = os.path.realpath(place)


def _entry(path: str, seen: set[str]) -> Iterator[Entry]:
    if path in seen:
        return
    seen.add(path)
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return  # not there yet: what is above it decides who can make it
    yield Entry(path, info.st_uid, info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        target = os.path.join(os.path.dirname(path), os.readlink(path))
        yield from _way(os.path.normpath(target), seen)
