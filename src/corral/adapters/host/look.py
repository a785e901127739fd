"""Seeing how far a host is set up. Only looks."""

from __future__ import annotations

import grp
import json
import os
import pwd
import stat
import time
from collections.abc import Iterator, Mapping, Sequence

from corral.adapters.host import audit_files, installation, tools
from corral.domain.errors import WrongUseError
from corral.domain.host_layout import Directory, Layout, check_workspaces
from corral.domain.host_names import (
    AGENTS,
    GROUPS,
    HOME,
    KEEPER_HOME,
    KEEPER_RUNTIME,
    KEEPER_SETTINGS,
    KEEPERS,
    LINGER_NOTES,
    LOWEST_UID,
    MEMBERS,
    PLACE_NOTES,
    RUNTIME,
    SERVICE,
    SERVICE_FILE,
    SETTINGS,
    SOCKET,
    USER,
    WORKSPACES,
)  # fmt: skip
from corral.domain.host_seen import DIRECTORY, FILE, PathSeen, PersonSeen, Seen, ServiceSeen, UserSeen
from corral.domain.host_trust import impassable
from corral.places import Places

_LARGEST = 1 << 20
_RUNTIMES = "/run/user"
_LINGERING = "/var/lib/systemd/linger"
_SHADOW = "/etc/shadow"
_PROPERTIES = "LoadState,UnitFileState,ActiveState,SubState,NeedDaemonReload,ActiveEnterTimestampMonotonic,NRestarts"
_LONGEST_WORDS = 300
#: Of a unit that runs, or is about to.
_UP = ("active", "reloading", "activating")


def look(wanted: Layout, members: Mapping[str, tuple[int, str]] | None = None) -> Seen:
    """The host as it is now, as far as the layout is about it.

    `members` has the number of each, and the group that they are to be in, as far as that is known.
    """
    places = [*(one.path for one in wanted.directories), *(one.path for one in wanted.files)]
    workspaces_of, others = _in_workspaces(wanted.workspaces)
    return Seen(
        groups=frozenset(name for name in GROUPS if _group(name) is not None),
        user=_user(),
        paths={path: seen for path in places if (seen := _path(path)) is not None},
        service=_service(),
        people=tuple(_people(members or {})),
        linger_notes=tuple(sorted(os.listdir(LINGER_NOTES))) if os.path.isdir(LINGER_NOTES) else (),
        in_daemons_group=tuple(sorted({*group.gr_mem} - {USER})) if (group := _group(USER)) is not None else (),
        of_daemons_group=tuple(sorted({*_of_own(group.gr_gid)} - {USER})) if group is not None else (),
        places_made=_places_made(),
        workspaces_of=workspaces_of,
        others_in_workspaces=others,
        strange_audit=tuple(audit_files.strange(user.pw_uid)) if (user := _account(USER)) is not None else (),
        weak_ways=tuple(_weak_ways(wanted)),
    )


def _weak_ways(wanted: Layout) -> Sequence[str]:
    """What the helper would refuse to pass, of what is no directory that the plan puts right."""
    ours = {one.path for one in wanted.directories}
    ways = installation.ways(KEEPERS, LINGER_NOTES, wanted.workspaces)
    return impassable(entry for entry in ways if entry.path not in ours)


def _places_made() -> dict[str, PathSeen]:
    """The directories that were made for workspaces, now or before, and are there still."""
    noted = _path(PLACE_NOTES)
    places = dict.fromkeys((noted.text or "").splitlines()) if noted is not None else ()
    return {path: seen for path in places if (seen := _path(path)) is not None and seen.kind == DIRECTORY}


def _in_workspaces(path: str) -> tuple[list[str], list[str]]:
    """What is in the place for workspaces: the directories of users, also of deleted ones, and whatever else there is.

    A directory that is empty was made for a user, a moment before it was to be theirs.
    """
    try:
        found = sorted(os.scandir(path), key=lambda one: one.name)
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    users, others = [], []
    for one in found:
        if one.name == "lost+found":
            continue  # of a file system of its own
        info = one.stat(follow_symlinks=False)
        owner = _user_name(info.st_uid)
        is_users = info.st_uid >= LOWEST_UID and owner in (one.name, str(info.st_uid))
        if one.is_dir(follow_symlinks=False) and (is_users or not os.listdir(one.path)):
            users.append(one.name)
        else:
            others.append(one.name)
    return users, others


def private_directories() -> list[Directory]:
    """Directories that the daemon and the helper have made since, as they are to be: of others nobody gets in."""
    found = [Directory(f"{KEEPERS}/{name}", _user_name(int(name)), USER, 0o750) for name in _keepers()]
    audit = Places(HOME, RUNTIME).audit_dir
    return [*found, Directory(audit, USER, USER, 0o700)] if os.path.lexists(audit) else found


def _keepers() -> list[str]:
    """The users, by number, who have a place for their keeper; not those whose account is gone."""
    names = os.listdir(KEEPERS) if os.path.isdir(KEEPERS) else []
    return sorted(name for name in names if name.isdecimal() and _user_name(int(name)) != name)


def workspaces() -> str:
    """Where workspaces are on this host, or would be if nobody says otherwise."""
    seen = _path(SETTINGS)
    if seen is None or not seen.text:
        return WORKSPACES
    try:
        named = json.loads(seen.text)["workspaces"]
    except (ValueError, KeyError, TypeError):
        return WORKSPACES  # the file is written anew
    try:
        check_workspaces(named if isinstance(named, str) else "")
    except WrongUseError:
        return WORKSPACES  # and so is one that names a place where none can be
    return str(named)


def _user() -> UserSeen | None:
    try:
        user = pwd.getpwnam(USER)
    except KeyError:
        return None
    groups = frozenset(map(_group_name, os.getgrouplist(USER, user.pw_gid)))
    own = _group_name(user.pw_gid)
    return UserSeen(user.pw_uid, own, user.pw_dir, user.pw_shell, groups - {USER}, password=_has_password(USER))


def _has_password(user: str) -> bool:
    """True if there is one by which somebody could become that user, or none is asked for."""
    try:
        with open(_SHADOW, encoding="utf-8", errors="surrogateescape") as file:
            found = [line.split(":")[1] for line in file if line.startswith(f"{user}:")]
    except FileNotFoundError:
        return False  # nobody of this host has one
    return any(not one.startswith(("!", "*")) for one in found)


def _path(path: str) -> PathSeen | None:
    try:
        info = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    seen = (_user_name(info.st_uid), _group_name(info.st_gid), stat.S_IMODE(info.st_mode))
    if stat.S_ISDIR(info.st_mode):
        return PathSeen(DIRECTORY, *seen, empty=not os.listdir(path))
    if not stat.S_ISREG(info.st_mode):
        return PathSeen("symbolic link" if stat.S_ISLNK(info.st_mode) else "special file", *seen)
    with open(path, encoding="utf-8", errors="replace") as file:
        return PathSeen(FILE, *seen, text=file.read(_LARGEST))


def _service() -> ServiceSeen:
    shown = tools.ask("systemctl", "show", "--property", _PROPERTIES, SERVICE).stdout
    found = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    active = found.get("ActiveState") in _UP
    starting = found.get("ActiveState") == "activating"
    failing = starting and found.get("SubState", "").startswith("auto-restart")
    return ServiceSeen(
        enabled=found.get("UnitFileState") == "enabled",
        active=active,
        unread=found.get("NeedDaemonReload") == "yes",
        stale=active and _written_after(int(found.get("ActiveEnterTimestampMonotonic") or 0)),
        open_socket=_open_socket(),
        no_socket=found.get("ActiveState") == "active" and not os.path.lexists(SOCKET),
        for_keepers=_path(KEEPER_SETTINGS),
        starting=starting,
        failing=failing,
        restarts=int(found.get("NRestarts") or 0) if starting else 0,
        last_words=_last_words() if failing else "",
    )


def _last_words() -> str:
    """The last line of the daemon itself in the journal of the system; what systemd says of it is known."""
    said = tools.ask("journalctl", "--quiet", "--output=cat", "--lines=1", f"_SYSTEMD_UNIT={SERVICE}").stdout
    return " ".join(said.split())[:_LONGEST_WORDS]


def _open_socket() -> int | None:
    # Members get in by a list (ACL), so the bits of others are nobody's.
    try:
        info = os.lstat(SOCKET)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(info.st_mode) if stat.S_ISSOCK(info.st_mode) and info.st_mode & 0o007 else None


def _written_after(began: int) -> bool:
    """True if the unit was written after that moment, in microseconds of the kernel's clock."""
    try:
        written = os.stat(SERVICE_FILE).st_mtime
    except FileNotFoundError:
        return False
    return began > 0 and written > time.time() - (time.monotonic() - began / 1e6)


def _people(members: Mapping[str, tuple[int, str]]) -> Iterator[PersonSeen]:
    """Everybody in the groups of this host, by their lists and by accounts' own groups; and members."""
    gids = {group.gr_gid: group for name in (MEMBERS, AGENTS) if (group := _group(name)) is not None}
    agents = _group(AGENTS)
    groups = {group.gr_name: {*group.gr_mem, *_of_own(gid)} for gid, group in gids.items()}
    managers = _managers()
    names = {name for group in groups.values() for name in group}
    for name in sorted(names | members.keys()):
        account = _account(name)
        if account is None:
            continue  # in a group, and deleted since
        uid, asked = members.get(name, (-1, ""))
        # Who has the name of a member under another number is somebody else, and is let into nothing.
        lacks = asked if account.pw_uid == uid and name not in groups.get(asked, ()) else ""
        if name not in names and not lacks:
            continue
        if account.pw_uid >= LOWEST_UID:
            yield PersonSeen(
                name=name,
                uid=account.pw_uid,
                lacks=lacks,
                lingers=os.path.lexists(f"{_LINGERING}/{name}"),
                has_manager=account.pw_uid in managers,
                has_keeper=os.path.exists(f"{KEEPERS}/{account.pw_uid}/keeper.sock"),
                keeper_home=home if os.path.isdir(home := f"{account.pw_dir}/{KEEPER_HOME}") else "",
                keeper_runtime=place
                if os.path.isdir(place := f"{_RUNTIMES}/{account.pw_uid}/{KEEPER_RUNTIME}")
                else "",
                shares_with=own.gr_mem
                if agents and name in agents.gr_mem and (own := _group(name)) is not None
                else (),
            )


def _managers() -> set[int]:
    """The users, by number, whose service manager runs. Its sockets stay when it is gone."""
    listed = tools.do("systemctl", "list-units", "--plain", "--no-legend", f"--state={','.join(_UP)}", "user@*.service")
    units = [line.split()[0] for line in listed.splitlines() if line.strip()]
    return {int(number) for unit in units if (number := unit[len("user@") : -len(".service")]).isdecimal()}


def _of_own(gid: int) -> list[str]:
    return [account.pw_name for account in pwd.getpwall() if account.pw_gid == gid]


def _account(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _group(name: str) -> grp.struct_group | None:
    try:
        return grp.getgrnam(name)
    except KeyError:
        return None


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
