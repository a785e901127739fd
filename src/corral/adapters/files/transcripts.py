"""Looking through the conversations that a coding agent keeps, one a file. Nothing is changed, and little is read.

Whatever is there was written by somebody else's program: a file that cannot be read, or is none of its, is passed over.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping

from corral.domain import screen_patterns
from corral.domain.conversations import Transcripts, is_id
from corral.ports.conversations import ConversationsSeen

#: So much of the beginning of a file is read to see where its conversation was held.
_BEGINNING = 256 << 10
#: So much of the end of one is read to see what its last records say.
_END = 256 << 10
#: So many files that were written to are looked into, the newest first.
_MOST_READ = 200
#: Times of files are as coarse as the kernel's clock ticks.
_TICK = 0.02
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


def look(
    where: Transcripts, environment: Mapping[str, str], *, directory: str, since: float, session: str
) -> ConversationsSeen:
    """What there is of one conversation, and which was written to last in a directory since then."""
    root = _root(where, environment)
    if not root:
        return ConversationsSeen(looked=True)
    there = False
    written: list[tuple[float, str, str]] = []
    for path, held in _held(root, where):
        if held == session and not there:
            # A file that says nothing of where was begun before anything was said: it cannot be continued.
            there = bool(_held_in(path, where.directory))
        _note_if_written(written, path, held, since)
    _, newest = _newest(written, where, directory)
    return ConversationsSeen(looked=True, there=there, newest=newest)


def find(where: Transcripts, environment: Mapping[str, str], *, directory: str, since: float, session: str) -> str:
    """The file of that conversation; without one, that which was written to last in the directory since then.

    Empty if there is none.
    """
    root = _root(where, environment)
    written: list[tuple[float, str, str]] = []
    for path, held in _held(root, where) if root else ():
        if not session or held == session:
            _note_if_written(written, path, held, since)
    if session:
        return max(written)[1] if written else ""
    return _newest(written, where, directory)[0]


def tail(path: str) -> list[bytes]:
    """The last lines of a file, of which the first may be cut off; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END))
            return file.read(_END).split(b"\n")
    except OSError:
        return []


def _held(root: str, where: Transcripts) -> Iterator[tuple[str, str]]:
    """The files, each with the id of its conversation."""
    for path in _files(root, where.files):
        held = screen_patterns.whole(where.session, os.path.basename(path), "session")
        if held is not None and is_id(held):
            yield path, held


def _note_if_written(written: list[tuple[float, str, str]], path: str, held: str, since: float) -> None:
    try:
        modified = os.stat(path).st_mtime
    except OSError:
        return
    if modified >= since - _TICK:
        written.append((modified, path, held))


def _newest(written: list[tuple[float, str, str]], where: Transcripts, directory: str) -> tuple[str, str]:
    """Of files that were written to, the newest that was held in the directory, with its id; empty if none was."""
    place = os.path.realpath(directory)
    for _, path, held in sorted(written, reverse=True)[:_MOST_READ]:
        if os.path.realpath(_held_in(path, where.directory) or "/") == place:
            return path, held
    return "", ""


def _root(where: Transcripts, environment: Mapping[str, str]) -> str:
    """The first directory whose variables the agent has; empty if there is none."""
    for root in where.roots:
        written = root.replace("~", "$HOME", 1) if root.startswith("~/") else root
        if all(environment.get(name) for name in _VARIABLE.findall(written)):
            path = _VARIABLE.sub(lambda match: environment[match[1]], written)
            return path if os.path.isabs(path) else ""
    return ""


def _files(root: str, patterns: tuple[str, ...]) -> Iterator[str]:
    for pattern in patterns:
        yield from glob.iglob(os.path.join(glob.escape(root), pattern))


def _held_in(path: str, member: str) -> str:
    """The directory that a conversation was held in, as its file says; empty if it does not."""
    try:
        with open(path, "rb") as file:
            lines = file.read(_BEGINNING).split(b"\n")
    except OSError:
        return ""
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue  # the last one may be cut off
        for key in member.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            return value
    return ""
