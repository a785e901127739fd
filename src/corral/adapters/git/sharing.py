"""Having a user of agents work with a repository that is somebody else's: by ACLs, which its owner puts (ADR 32).

git runs what a repository's configuration and its hooks say, as whoever works with it. So a user of agents gets to
write where git puts single objects and the team's branches, for a moment where it keeps worktrees, and nowhere else;
there the sticky bit keeps what is the owner's from being replaced. What either makes the other can read, whatever their
umasks: that is what default ACLs are for. All of it can be done again, and it is taken back with the last worktree of
that user.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from corral.adapters.git import packed_refs
from corral.domain.acl import (
    ACCESS,
    DEFAULT,
    Entry,
    allowed_to,
    entries_of,
    entries_of_mode,
    letting,
    packed,
    users_in,
    without,
)
from corral.domain.errors import CorralError, RefusedError
from corral.repository import BRANCHES

_READ, _WRITE, _SEARCH = 4, 2, 1
#: Where things of the guest's may be.
_WITH_THEIRS = ("worktrees", "objects", packed_refs.ELSEWHERE)
_FAN_OUT = [f"{number:02x}" for number in range(256)]
#: git removes directories of refs that are empty, and the user could not make them again. Of all files in such a
#: directory, one that ends so is for git none of its own; and no agent has a name with that first letter.
_KEPT_BY = "_corral.lock"
#: The same of objects: git takes it for one that somebody has not finished, and leaves it if it is not old. So it is of
#: the future: only who says `--prune=now` removes it, and then the guest makes no objects there until the next `up`.
_KEPT_OBJECTS_BY, _NEVER_OLD = "tmp_obj_corral", 4_000_000_000
#: So many of the things that stand open are named.
_MOST_NAMED = 3


@dataclass(frozen=True)
class Guest:
    """A user of agents, with the groups that the user is in."""

    name: str
    uid: int
    groups: Collection[int]


def share(common: str, team: str, guest: Guest) -> None:
    """Have the guest work with the repository whose git directory `common` is, as an agent of that team.

    `RefusedError` if the guest could change what git runs for others there, whoever has let that be, and nothing is
    changed then. A repository that is not ours is only looked at: whose it is has to let the guest in.
    """
    places = _places(common, team)
    if links := sorted(filter(os.path.islink, places)):
        raise RefusedError(
            f"{links[0]} is a link, and {guest.name} is to write there",
            "look where it leads, and who made it; remove it",
        )
    if found := list(_changeable(common, guest)):
        raise _stands_open(common, guest, found)
    if not is_ours(common):
        return
    if os.path.lexists(os.path.join(common, "reftable")):
        raise RefusedError(
            f"{common} keeps its branches in one place, so {guest.name} cannot be given some of them",
            "git refs migrate --ref-format=files, or an agent without run_as",
        )
    with _told(common):
        for place in places:
            os.makedirs(place, exist_ok=True)
        packed_refs.move_out(common)
        for keeping in _keeping(common, team):
            with contextlib.suppress(FileExistsError):  # whatever is there keeps the directory
                os.close(os.open(keeping, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.utime(keeping, (_NEVER_OLD, _NEVER_OLD), follow_symlinks=False)
        _let(os.path.dirname(common), guest, _SEARCH)
        for path, is_directory in _walk(common):
            if os.lstat(path).st_uid == os.geteuid():
                _let_in(path, guest, is_directory=is_directory, writes=path in places)
        let_make_worktrees(common, guest, allowed=False)


def let_make_worktrees(common: str, guest: Guest, *, allowed: bool) -> None:
    """Have the guest make or remove what git keeps for a worktree, or no more. Only as long as it does: git that prunes
    worktrees follows a link in the place of one. No link of the guest's stays there.
    """
    if not is_ours(common) or guest.uid == os.geteuid():  # an owner who is named in `run_as` may anyway
        return
    place = os.path.join(common, "worktrees")
    with _told(common):
        os.makedirs(place, exist_ok=True)
        os.chmod(place, stat.S_IMODE(os.lstat(place).st_mode) | stat.S_ISVTX)
        permissions = _READ | _SEARCH | (_WRITE if allowed else 0)
        os.setxattr(place, ACCESS, packed(letting(_entries(place), [(guest.uid, permissions)])), follow_symlinks=False)
        for name in os.listdir(place):
            if os.path.islink(os.path.join(place, name)):
                os.unlink(os.path.join(place, name))


def is_ours(common: str) -> bool:
    """Whether the repository is this user's. In one of somebody else's, what only its owner can do is the owner's."""
    return os.stat(common).st_uid == os.geteuid()


def keep(git_dir: str) -> None:
    """Have what others make in `git_dir` be ours too: git keeps it for a worktree of ours, in another's repository."""
    with _told(git_dir):
        for path, is_directory in _walk(git_dir):
            if is_directory:
                made = _entries(path, DEFAULT) or entries_of_mode(os.lstat(path).st_mode & ~0o022)
                os.setxattr(path, DEFAULT, packed(letting(made, [(os.geteuid(), 7)])), follow_symlinks=False)


def take_back(common: str, team: str, uid: int) -> None:
    """Leave nothing of `share`, if the user has no worktree there any more."""
    if not is_ours(common) or _has_worktree(common, uid):
        return
    with _told(common):
        is_for_others = bool(_others(packed_refs.place(common), uid))
        if not is_for_others:
            _remove_places(common, team)
        with contextlib.suppress(OSError):  # there are worktrees, or none ever were
            os.rmdir(os.path.join(common, "worktrees"))
        for path, is_directory in _walk(common):
            if os.lstat(path).st_uid == os.geteuid():
                _shut_out(path, uid, is_directory=is_directory)
        _shut_out(os.path.dirname(common), uid, is_directory=True)
        if not is_for_others:
            packed_refs.move_back(common)


def _places(common: str, team: str) -> set[str]:
    """Where the guest may make things."""
    return {*_fan_out(common), packed_refs.place(common), _branches(common, team)}


def _fan_out(common: str) -> list[str]:
    """Where objects are that are in no pack. In packs git looks first, so those are the owner's alone."""
    return [os.path.join(common, "objects", name) for name in _FAN_OUT]


def _branches(common: str, team: str) -> str:
    """Where the team's branches are. Not their logs: git writes to those also where links lead."""
    return os.path.join(common, "refs", "heads", BRANCHES, team)


def _remove_places(common: str, team: str) -> None:
    """As far as nothing is in them."""
    for keeping in _keeping(common, team):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(keeping)
    _remove_empty(_branches(common, team), common)
    for place in _fan_out(common):
        with contextlib.suppress(OSError):  # there are objects
            os.rmdir(place)


def _keeping(common: str, team: str) -> Iterator[str]:
    """Files by which git finds these directories not empty, and leaves them."""
    yield os.path.join(_branches(common, team), _KEPT_BY)
    yield from (os.path.join(place, _KEPT_OBJECTS_BY) for place in _fan_out(common))


def _may_be_written(common: str, path: str) -> bool:
    """Whether a guest may write there, of whatever team: nothing that git runs is there."""
    below = os.path.relpath(path, common).split(os.sep)
    if below[0] == "objects":
        return len(below) == 2 and below[1] in _FAN_OUT
    return below in (["worktrees"], [packed_refs.ELSEWHERE]) or below[:3] == ["refs", "heads", BRANCHES]


def _changeable(common: str, guest: Guest) -> Iterator[str]:
    """What the guest could change, and may not."""
    above = os.path.dirname(common)
    if _may(above, guest) & _WRITE and not os.lstat(above).st_mode & stat.S_ISVTX:
        yield above  # and so put another in the place of `common`
    for path, _ in _walk(common):
        if _may_be_written(common, path):
            continue
        is_guests = os.lstat(path).st_uid == guest.uid
        if is_guests and _is_below(path, *(os.path.join(common, name) for name in _WITH_THEIRS)):
            continue
        if is_guests or _may(path, guest) & _WRITE:
            yield path


def _is_below(path: str, *directories: str) -> bool:
    return any(path.startswith(directory + os.sep) for directory in directories)


def _stands_open(common: str, guest: Guest, found: list[str]) -> RefusedError:
    shown = ", ".join(found[:_MOST_NAMED]) + (f" and {len(found) - _MOST_NAMED} more" if found[_MOST_NAMED:] else "")
    return RefusedError(
        f"{guest.name} can change {shown}, and so what git runs for everybody who works there",
        f"look whether it did; then git -C {common} config --unset core.sharedRepository, chmod -R go-w {common} and "
        f"chmod go-w {os.path.dirname(common)}, and chown what belongs to {guest.name}: Corral lets {guest.name} write "
        "what a worktree needs, and no more",
    )


def _walk(top: str) -> Iterator[tuple[str, bool]]:
    """What is in a directory, itself first, without links.

    Of what belongs to another than the directory only that it is there: whose it is can put a link to anything in the
    place of what is in it, while this is on its way. In directories of our own nobody else can.
    """
    owner = os.lstat(top).st_uid
    yield top, True
    for directory, names, files in os.walk(top):
        there = [name for name in names if not os.path.islink(os.path.join(directory, name))]
        for name in there:
            yield os.path.join(directory, name), True
        for name in files:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                yield path, False
        names[:] = [name for name in there if os.lstat(os.path.join(directory, name)).st_uid == owner]


def _entries(path: str, kind: str = ACCESS) -> list[Entry]:
    """The ACL of a file, or what its mode says; of a default ACL that there is none, nothing."""
    try:
        return entries_of(os.getxattr(path, kind, follow_symlinks=False))
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.EOPNOTSUPP):
            raise
    return entries_of_mode(os.lstat(path).st_mode) if kind == ACCESS else []


def _may(path: str, guest: Guest) -> int:
    info = os.lstat(path)
    return allowed_to(_entries(path), (info.st_uid, info.st_gid), guest.uid, guest.groups)


def _let(path: str, guest: Guest, allowed: int) -> None:
    """At least this much for the guest, if the place is ours to say so."""
    have = _may(path, guest)
    if have & allowed != allowed and os.lstat(path).st_uid == os.geteuid():
        os.setxattr(path, ACCESS, packed(letting(_entries(path), [(guest.uid, have | allowed)])), follow_symlinks=False)


def _let_in(path: str, guest: Guest, *, is_directory: bool, writes: bool) -> None:
    mode = os.lstat(path).st_mode
    _let(path, guest, _READ | (_SEARCH if is_directory or mode & stat.S_IXUSR else 0) | (_WRITE if writes else 0))
    if is_directory:
        # What either makes there is read by the guest, and ours to change.
        made = _entries(path, DEFAULT) or entries_of_mode(mode & ~0o022)
        wanted = packed(letting(made, [(guest.uid, _READ | _SEARCH), (os.geteuid(), 7)]))
        os.setxattr(path, DEFAULT, wanted, follow_symlinks=False)
    if writes and not mode & stat.S_ISVTX:
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | stat.S_ISVTX)


def _shut_out(path: str, uid: int, *, is_directory: bool) -> None:
    entries = _entries(path)
    if uid not in users_in(entries) and not (is_directory and uid in users_in(_entries(path, DEFAULT))):
        return
    rest = without(entries, uid)
    others = users_in(rest) - {os.geteuid()}
    os.setxattr(path, ACCESS, packed(rest if others else without(rest, os.geteuid())), follow_symlinks=False)
    if not is_directory:
        return
    made = without(_entries(path, DEFAULT), uid)
    if users_in(made) - {os.geteuid()}:
        os.setxattr(path, DEFAULT, packed(made), follow_symlinks=False)
    elif made:
        os.removexattr(path, DEFAULT, follow_symlinks=False)
    mode = os.lstat(path).st_mode
    if not others and mode & stat.S_ISVTX:
        os.chmod(path, stat.S_IMODE(mode) & ~stat.S_ISVTX)


def _others(path: str, uid: int) -> set[int]:
    """Who else is let in there, besides us and that user."""
    return users_in(_entries(path)) - {uid, os.geteuid()} if os.path.lexists(path) else set()


def _has_worktree(common: str, uid: int) -> bool:
    place = os.path.join(common, "worktrees")
    try:
        found = [os.lstat(os.path.join(place, name)) for name in os.listdir(place)]
    except FileNotFoundError:
        return False
    return any(info.st_uid == uid and stat.S_ISDIR(info.st_mode) for info in found)


def _remove_empty(place: str, common: str) -> None:
    """The directory of a team's branches, and those above it, as far as nothing else is in them."""
    while place not in (common, os.path.join(common, "refs", "heads")):
        try:
            os.rmdir(place)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return
        place = os.path.dirname(place)


@contextlib.contextmanager
def _told(common: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise CorralError(
                f"nobody can be let into {common}: its file system has no ACLs",
                "mount it with ACLs, or leave run_as out of corral.toml",
            ) from error
        raise CorralError(
            f"{error.filename or common} cannot be shared with a user of agents: {error.strerror}",
            "make it yours, then run it again",
        ) from error
