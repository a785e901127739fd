"""Whether the programs that a shared server is to run are root's alone to change and everybody's to read. Pure."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass

from corral.domain.errors import RefusedError

#: As many are named; whoever puts one right usually puts all of them right.
_NAMED = 4


@dataclass(frozen=True)
class Entry:
    """A file or directory that is run, loaded, or passed on the way to such a one."""

    path: str
    uid: int
    mode: int


def weaknesses(entries: Iterable[Entry]) -> list[str]:
    """What is wrong with each that is not as it must be, in a sentence."""
    return [f"{entry.path} {fault}" for entry in entries if (fault := _fault(entry))]


def refuse_weak(python: str, entries: Iterable[Entry]) -> None:
    """Refuse to have the daemon, and every user's keeper, run what others than root could change."""
    if found := weaknesses(entries):
        raise RefusedError(
            f"this Corral is run by {python}, which a shared server cannot run: {_in_words(found)}",
            "install it for everybody, as root: python3 -m venv /opt/corral && /opt/corral/bin/pip install CORRAL, "
            "then sudo /opt/corral/bin/corral host setup",
        )


def refuse_weak_ground(helper: str, entries: Iterable[Entry]) -> None:
    """Refuse a place for the helper that others than root could change. `entries` are what is not ours to put right."""
    if found := weaknesses(entries):
        raise RefusedError(
            f"the privileged helper, {helper}, cannot be where others could replace it, or what it is run by: "
            f"{_in_words(found)}",
            "see why it is so, then: chown root PATH; chmod go-w,a+rX PATH",
        )


def impassable(entries: Iterable[Entry]) -> list[str]:
    """What of a way the privileged helper does not pass, or the user for whom it makes a directory behind it could not,
    in a sentence each. See `opened` there: on a way, others may make things where the sticky bit keeps what is not
    theirs from being moved.
    """
    return [f"{entry.path} {fault}" for entry in entries if (fault := _fault_on_way(entry))]


def _fault_on_way(entry: Entry) -> str:
    if stat.S_ISLNK(entry.mode):
        return "is a link"
    if entry.uid != 0:
        return f"belongs to uid {entry.uid}, not to root"
    if entry.mode & 0o022 and not entry.mode & stat.S_ISVTX:
        return f"can be changed by others (mode {stat.S_IMODE(entry.mode):04o})"
    if not entry.mode & 0o001:
        return f"cannot be passed by everybody (mode {stat.S_IMODE(entry.mode):04o})"
    return ""


def _in_words(found: list[str]) -> str:
    more = f" (and {len(found) - _NAMED} more)" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more


def _fault(entry: Entry) -> str:
    if stat.S_ISLNK(entry.mode):
        return "" if entry.uid == 0 else f"belongs to uid {entry.uid}, not to root"
    if entry.uid != 0:
        return f"belongs to uid {entry.uid}, not to root"
    # Of whichever group: that of root has members too, and the bit also tells that a list (ACL) lets somebody write.
    if entry.mode & 0o022:
        return f"can be written by others (mode {stat.S_IMODE(entry.mode):04o})"
    needed = 0o005 if stat.S_ISDIR(entry.mode) else 0o004
    if entry.mode & needed != needed:
        return f"cannot be read by everybody (mode {stat.S_IMODE(entry.mode):04o})"
    return ""
