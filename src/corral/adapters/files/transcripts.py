"""Looking through the conversations that a coding agent keeps, one a file. Nothing is changed, and little is read.

Whatever is there was written by somebody else's program: a file that cannot be read, or is none of its, is passed over.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping

from corral.domain.conversations import Transcripts, is_id
from corral.ports.conversations import ConversationsSeen

#: So much of the beginning of a file is read to see where its conversation was held.
_BEGINNING = 256 << 10
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
    for path in _files(root, where.files):
        match = re.fullmatch(where.session, os.path.basename(path))
        if match is None or not is_id(match["session"]):
            continue
        if match["session"] == session and not there:
            # A file that says nothing of where was begun before anything was said: it cannot be continued.
            there = bool(_held_in(path, where.directory))
        try:
            modified = os.stat(path).st_mtime
        except OSError:
            continue
        if modified >= since - _TICK:
            written.append((modified, path, match["session"]))
    newest = ""
    place = os.path.realpath(directory)
    for _, path, found in sorted(written, reverse=True)[:_MOST_READ]:
        if os.path.realpath(_held_in(path, where.directory) or "/") == place:
            newest = found
            break
    return ConversationsSeen(looked=True, there=there, newest=newest)


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
