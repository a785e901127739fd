"""What a shared server has: the names, the directories and the files, with owners and modes (ADR 19). Pure.

`corral host setup` makes a host like this, `--check` compares, `remove` takes it away again.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass, replace

from corral.domain import host_files
from corral.domain.errors import WrongUseError
from corral.domain.host_names import (
    CONFIG,
    HELPER,
    HOME,
    KEEPER_HOME,
    KEEPER_PLACE_FILE,
    KEEPER_SERVICE,
    KEEPER_SERVICE_FILE,
    KEEPER_START_FILE,
    KEEPER_STOP_FILE,
    KEEPERS,
    LINGER_NOTES,
    MEMBERS,
    NOTES,
    PROGRAMS,
    RUNTIME,
    SERVICE_FILE,
    SETTINGS,
    SUDOERS,
    TMPFILES,
    USER,
    WORKSPACES,
)  # fmt: skip
from corral.domain.host_seen import PathSeen

#: Where the daemon's unit lets nobody look or write, the helper included.
_NO_WORKSPACES_BELOW = tuple("/home /root /tmp /var/tmp /proc /sys /dev /run /boot /etc /usr".split())


@dataclass(frozen=True)
class Directory:
    """A directory and whose it is. One that is `data` is left behind by `remove`, unless all is to be purged."""

    path: str
    owner: str
    group: str
    mode: int
    data: bool = False


@dataclass(frozen=True)
class File:
    """A file, what is in it, and whose it is."""

    path: str
    group: str
    mode: int
    text: str
    about: str


@dataclass(frozen=True)
class Layout:
    """All of it, in the order in which it can be made."""

    directories: Sequence[Directory]
    files: Sequence[File]
    #: The file that must pass `visudo` before anything at all is done.
    sudoers: File
    workspaces: str


def layout(python: str, helper: str, workspaces: str, checkpoints: str = "") -> Layout:
    """What a host has whose daemon is run by this Python; `helper` is the text of the helper, and `checkpoints` the
    directory that checkpoints of the audit trail are shipped to, if there is one.
    """
    check_workspaces(workspaces)
    sudoers = File(
        SUDOERS, "root", 0o440, host_files.sudoers(USER, HELPER), "the right to run the helper, and only that"
    )
    return Layout(
        directories=(
            Directory(CONFIG, "root", "root", 0o755),
            Directory(PROGRAMS, "root", "root", 0o755),
            Directory(HOME, USER, USER, 0o700, data=True),
            Directory(NOTES, "root", "root", 0o755),
            Directory(LINGER_NOTES, "root", "root", 0o755),
            Directory(workspaces, "root", "root", 0o711, data=True),
            # Sticky: the daemon makes its socket here, and cannot put anything in the place of what is root's.
            Directory(RUNTIME, "root", USER, 0o1771),
            Directory(KEEPERS, "root", "root", 0o711),
        ),
        files=(
            File(SETTINGS, "root", 0o644, host_files.settings(workspaces), "where workspaces are, for the helper"),
            File(TMPFILES, "root", 0o644, host_files.tmpfiles(RUNTIME, KEEPERS, USER), "the directories below /run"),
            File(HELPER, "root", 0o755, helper, "the privileged helper"),
            sudoers,
            File(
                SERVICE_FILE,
                "root",
                0o644,
                host_files.daemon_unit(
                    python,
                    user=USER,
                    members=MEMBERS,
                    home=HOME,
                    runtime=RUNTIME,
                    writable=(NOTES, workspaces),
                    checkpoints=checkpoints,
                ),
                "the daemon's unit",
            ),
            File(
                KEEPER_SERVICE_FILE,
                "root",
                0o644,
                host_files.keeper_unit(
                    python, user=USER, runtime=RUNTIME, keepers=KEEPERS, home=KEEPER_HOME, workspaces=workspaces
                ),
                "the unit of every user's keeper",
            ),
            *(
                File(path, "root", 0o644, host_files.keeper_order_unit(verb, KEEPER_SERVICE), about)
                for path, verb, about in (
                    (KEEPER_START_FILE, "start", "what has a keeper started"),
                    (KEEPER_STOP_FILE, "stop", "what has a keeper stopped"),
                )
            ),
            File(
                KEEPER_PLACE_FILE, "root", 0o644, host_files.keeper_place_unit(KEEPERS), "places for keepers' sockets"
            ),
        ),
        sudoers=sudoers,
        workspaces=workspaces,
    )


def as_it_is(wanted: Layout, path: str, seen: PathSeen | None) -> Layout:
    """The layout with a file's text as it was found, where nobody can tell what it has to say."""
    if seen is None or seen.text is None:
        return wanted
    files = [replace(one, text=seen.text) if one.path == path else one for one in wanted.files]
    return replace(wanted, files=files)


def check_workspaces(path: str) -> None:
    """Refuse a place for workspaces that the daemon's unit hides, that is not kept, or that is the system's."""
    if not path.startswith("/") or os.path.normpath(path) != path or path.count("/") < 2:
        raise WrongUseError(
            f"workspaces cannot be in {path!r}", "--workspaces takes an absolute path of two parts or more: /srv/corral"
        )
    if not path.isascii() or not path.isprintable() or any(letter in path for letter in " \"'\\%$:"):
        raise WrongUseError(f"workspaces cannot be in {path!r}", "use letters, digits and . _ - in the path")
    for place in (*_NO_WORKSPACES_BELOW, HOME, NOTES):
        if path == place or path.startswith(place + "/"):
            raise WrongUseError(
                f"workspaces cannot be below {place}: the daemon's unit closes it, or it is not kept",
                f"use a directory of their own, such as {WORKSPACES}",
            )
