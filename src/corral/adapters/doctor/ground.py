"""What the instance stands on: its directories and those above them, its disks, its sockets, its worktrees."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterator

from corral.domain.diagnosis_facts import Directory, Disk, LeftWorktree, SocketFile
from corral.places import Places


def directories(places: Places) -> tuple[Directory, ...]:
    """The instance's own directories, then everything above them; none for a shared server, whose directories are not
    the person's: `corral host setup --check` looks at those, as root.
    """
    if places.of_host:
        return ()
    own = [places.home, places.runtime, places.tmux_dir, places.launch_dir, places.own_dir]
    above = dict.fromkeys(parent for path in own for parent in _above(os.path.realpath(path)))
    found = [_directory(path, own=True) for path in own]
    found += [_directory(path, own=False) for path in above if path not in map(os.path.realpath, own)]
    return tuple(directory for directory in found if directory is not None)


def disks(places: Places) -> tuple[Disk, ...]:
    """The file systems of state and sockets, each once."""
    found: dict[int, list[str]] = {}
    for path in (places.home, places.runtime, places.audit_dir):
        there = next(one for one in (path, *_above(path)) if os.path.exists(one))
        found.setdefault(os.stat(there).st_dev, []).append(there)
    return tuple(_disk(paths) for paths in found.values())


def socket_files(places: Places, listens: Callable[[str], bool | None]) -> tuple[SocketFile, ...]:
    """The sockets of daemon, keeper, tmux servers and hosts that are on the disk."""
    fixed = [
        ("daemon", places.daemon_socket, (places.start_lock, places.daemon_lock)),
        ("keeper", places.keeper_socket, (places.keeper_lock,)),
    ]
    for name in _names(places.tmux_dir):
        of = "host" if name.endswith(".host") else "tmux"
        fixed.append((of, os.path.join(places.tmux_dir, name), ()))
    found = []
    for of, path, locks in fixed:
        if _is_socket(path):
            listening = listens(path)
            stale = None if listening is None else not listening
            found.append(SocketFile(path=path, of=of, stale=stale, locks=locks))
    return tuple(found)


def worktrees(places: Places) -> tuple[LeftWorktree, ...]:
    """Every directory where worktrees are, in use or not, and every link in the place of one."""
    root = os.path.dirname(os.path.dirname(places.worktree("any", "any")))
    found = []
    for team in _names(root):
        directory = os.path.join(root, team)
        if os.path.islink(directory):
            # What it leads to is not ours, and not looked at.
            found.append(LeftWorktree(team=team, agent="", path=directory, link=True))
            continue
        for agent in _names(directory):
            path = places.worktree(team, agent)
            link = os.path.islink(path)
            if link or os.path.isdir(path):
                found.append(LeftWorktree(team=team, agent=agent, path=path, link=link))
    return tuple(found)


def _above(path: str) -> Iterator[str]:
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


def _directory(path: str, *, own: bool) -> Directory | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    trusted = (os.getuid(),) if own else (0, os.getuid())
    return Directory(
        path=path,
        owner=_owner(info.st_uid),
        trusted=info.st_uid in trusted,
        mode=stat.S_IMODE(info.st_mode),
        private_group=_is_private(info.st_gid),
        own=own,
    )


def _disk(paths: list[str]) -> Disk:
    info = os.statvfs(paths[0])
    return Disk(
        paths=tuple(dict.fromkeys(paths)),
        free=info.f_bavail * info.f_frsize,
        # Without what is kept for root: the rest is all that this user can fill.
        size=(info.f_blocks - info.f_bfree + info.f_bavail) * info.f_frsize,
        inodes=info.f_files,
        free_inodes=info.f_favail,
    )


def _owner(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _is_private(gid: int) -> bool:
    """True for root's group, and for the group that a user has for himself alone."""
    if gid == 0:
        return True
    try:
        group = grp.getgrgid(gid)
        return not set(group.gr_mem) - {group.gr_name} and group.gr_name == pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
