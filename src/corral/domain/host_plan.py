"""What is to be done so that a host is set up, or is as it was before: wanted against seen. Pure.

A plan is a list of steps, in order, each of which can be shown to a person before it is taken. Every step says what
makes it necessary, so nothing is planned for what is as it should be: the plan of a host that is set up is empty, and
the plan of one whose set-up was interrupted is the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corral.domain.errors import RefusedError
from corral.domain.host_layout import Directory, File, Layout
from corral.domain.host_names import (
    GROUPS,
    HOME,
    KEEPER_PLACE_FILE,
    KEEPER_SERVICE,
    KEEPER_SERVICE_FILE,
    KEEPER_SETTINGS,
    KEEPER_START_FILE,
    KEEPER_STOP_FILE,
    LOWEST_UID,
    MEMBERS,
    MIGHTY_GROUPS,
    NOTES,
    RUNTIME,
    SERVICE,
    SERVICE_FILE,
    SHELL,
    USER,
)  # fmt: skip
from corral.domain.host_seen import DIRECTORY, FILE, FOR_KEEPERS, PathSeen, Seen, ServiceSeen, UserSeen

# The steps there are.
ADD_GROUP = "add_group"
ADD_USER = "add_user"
MEND_USER = "mend_user"
LOCK_USER = "lock_user"
MAKE_DIRECTORY = "make_directory"
WRITE_FILE = "write_file"
RELOAD_UNITS = "reload_units"
ENABLE_SERVICE = "enable_service"
START_SERVICE = "start_service"
RELOAD_MANAGER = "reload_manager"
LINGER_ON = "linger_on"
START_MANAGER = "start_manager"
JOIN_MEMBERS = "join_members"
JOIN_AGENTS = "join_agents"
LEAVE_MEMBERS = "leave_members"
LEAVE_AGENTS = "leave_agents"
JOIN_USER = "join_user"
LEAVE_USER = "leave_user"
DISABLE_SERVICE = "disable_service"
STOP_KEEPER = "stop_keeper"
LINGER_OFF = "linger_off"
REMOVE_FILE = "remove_file"
REMOVE_DIRECTORY = "remove_directory"
REMOVE_TREE = "remove_tree"
DELETE_USER = "delete_user"
DELETE_GROUP = "delete_group"
#: Nothing that is done: something of others is there, and a person has to look at it.
IN_THE_WAY = "in_the_way"

#: What systemd reads.
_UNIT_FILES = frozenset((SERVICE_FILE, KEEPER_SERVICE_FILE, KEEPER_START_FILE, KEEPER_STOP_FILE, KEEPER_PLACE_FILE))


@dataclass(frozen=True)
class Step:
    """One thing to do: the kind of step, what it is about, what a person reads, and why it is necessary."""

    action: str
    subject: str
    about: str
    why: str

    def as_json(self) -> dict[str, str]:
        return {"action": self.action, "subject": self.subject, "about": self.about, "why": self.why}


def setup(wanted: Layout, seen: Seen) -> list[Step]:
    """What is missing, in the order in which it can be done; `IN_THE_WAY` among it is what only a person can do."""
    steps = [
        Step(ADD_GROUP, name, f"add the system group {name}", "missing") for name in GROUPS if name not in seen.groups
    ]
    if seen.user is None:
        steps.append(Step(ADD_USER, USER, f"add the system user {USER}, which nobody can log in as", "missing"))
    else:
        steps.extend(_user(seen.user))
    rights = list(_rights(seen))
    steps.extend(rights)
    steps.extend(_for_a_person(seen))
    for directory in wanted.directories:
        changes = list(_directory(directory, seen.paths.get(directory.path)))
        if changes and directory.path == wanted.workspaces and seen.others_in_workspaces:
            changes = [_used_by_others(wanted, seen)]
        steps.extend(changes)
    written = [step for file in wanted.files for step in _file(file, seen.paths.get(file.path))]
    steps.extend(written)
    regrouped = bool(rights) or MEMBERS not in seen.groups
    steps.extend(_service(seen.service, {step.subject for step in written}, rights_changed=regrouped))
    steps.extend(_people(seen, KEEPER_SERVICE_FILE in {step.subject for step in written if step.why != "missing"}))
    return steps


def refuse_obstacles(steps: Sequence[Step]) -> None:
    """Raise `RefusedError` if something is in the way of a plan, with all of it."""
    found = [step for step in steps if step.action == IN_THE_WAY]
    if found:
        raise RefusedError("; ".join(step.about for step in found), "; ".join(step.why for step in found))


def remove(wanted: Layout, seen: Seen, *, purge: bool) -> list[Step]:
    """What takes all of it away again, rights first. Without `purge`, data stays and with it the names that own it."""
    steps = list(_disarm(wanted, seen))
    steps.extend(stop_keeper(person.name) for person in seen.people if person.has_keeper)
    steps.extend(linger_off(name) for name in seen.linger_notes)
    steps.extend(_remove_files(wanted, seen))
    steps.extend(_tidy(wanted, seen))
    if purge:
        steps.extend(
            Step(REMOVE_TREE, path, f"remove {path} with all that is in it", "purge")
            for one in wanted.directories
            if one.data and one.path in seen.paths
            for path in _data_in(one.path, wanted, seen)
        )
        if wanted.workspaces in seen.paths and not seen.others_in_workspaces:
            about = f"remove {wanted.workspaces}, if nothing else is in it"
            steps.append(Step(REMOVE_DIRECTORY, wanted.workspaces, about, "purge"))
        steps.extend(
            Step(REMOVE_DIRECTORY, path, f"remove {path}, if nothing else is in it", "it was made for workspaces")
            for path in _former_places(wanted, seen)
            if not _is_used(path, wanted, seen)
        )
        if seen.user is not None:
            steps.append(Step(DELETE_USER, USER, f"delete the user {USER}", "purge"))
        steps.extend(
            Step(DELETE_GROUP, name, f"delete the group {name}", "purge") for name in GROUPS if name in seen.groups
        )
    return steps


def left_behind(wanted: Layout, seen: Seen, *, purge: bool) -> list[str]:
    """What `remove` does not take away, in words."""
    # What is in people's homes is theirs to remove.
    left = [
        f"{place}, of the keeper of {person.name}"
        for person in seen.people
        for place in (person.keeper_home, person.keeper_runtime)
        if place
    ]
    # That they are in it may have been said by somebody else, and for more than this.
    left += [f"{name} in the group {person.name}" for person in seen.people for name in person.shares_with]
    left += [
        f"{path}, which was made for workspaces"
        for path in _former_places(wanted, seen)
        if not purge or _is_used(path, wanted, seen)
    ]
    if purge:
        return [*left, *(f"{wanted.workspaces}/{name}, which is no workspace" for name in seen.others_in_workspaces)]
    left += [f"{one.path} with its data" for one in wanted.directories if one.data and one.path in seen.paths]
    names = [f"the user {USER}"] if seen.user is not None else []
    return [*left, *names, *(f"the group {name}" for name in GROUPS if name in seen.groups)]


def _data_in(path: str, wanted: Layout, seen: Seen) -> list[str]:
    """What of a directory of data is Corral's: all of it, but in the place for workspaces what is of users alone."""
    return [path] if path != wanted.workspaces else [f"{path}/{user}" for user in seen.workspaces_of]


def _former_places(wanted: Layout, seen: Seen) -> list[str]:
    """What was made for workspaces besides the place where they are, what is below before what is above."""
    return sorted((path for path in seen.places_made if path != wanted.workspaces), key=len, reverse=True)


def _is_used(path: str, wanted: Layout, seen: Seen) -> bool:
    """True if something is in it, and none of it goes away with the rest."""
    known = {wanted.workspaces, *seen.places_made}
    return not seen.places_made[path].empty and not any(other.startswith(f"{path}/") for other in known)


def linger_on(user: str) -> Step:
    """For whoever is to have a keeper here."""
    return Step(LINGER_ON, user, f"turn linger of {user} on: the keeper runs without a log-in", "linger is off")


def linger_off(user: str) -> Step:
    """For whoever has a note that it was turned on."""
    return Step(LINGER_OFF, user, f"turn linger of {user} off again", "it was turned on for Corral")


def stop_keeper(user: str) -> Step:
    """For whoever has one that runs."""
    return Step(STOP_KEEPER, user, f"stop {KEEPER_SERVICE} of {user}; terminals and agents stay", "it runs")


def _user(user: UserSeen) -> Iterator[Step]:
    if user.uid == 0 or user.uid >= LOWEST_UID or user.group != USER or user.home != HOME:
        yield Step(
            IN_THE_WAY,
            USER,
            f"there is a user {USER} already (uid {user.uid}, group {user.group}, home {user.home}) that is not the "
            f"system user which the daemon is to be (group {USER}, home {HOME})",
            "rename that account, or make it such a one with usermod, and run this again",
        )
    elif user.shell != SHELL:
        yield Step(MEND_USER, USER, f"give the user {USER} the shell {SHELL}", f"its shell is {user.shell}")
    if user.password:
        yield Step(LOCK_USER, USER, f"lock the password of the user {USER}", "it has one, and nobody is to become it")


def _rights(seen: Seen) -> Iterator[Step]:
    """Who has more by the system's groups than the set-up gives: the daemon, or others by way of the daemon's group."""
    for name in sorted((seen.user.groups if seen.user is not None else frozenset()) & MIGHTY_GROUPS):
        yield Step(LEAVE_USER, f"{USER}:{name}", f"take {USER} out of the group {name}", "by it, it could become root")
    for name in seen.in_daemons_group:
        yield Step(LEAVE_USER, f"{name}:{USER}", f"take {name} out of the group {USER}", "it is the daemon's alone")


def _for_a_person(seen: Seen) -> Iterator[Step]:
    """What only a person can put right."""
    for name in seen.of_daemons_group:
        yield Step(
            IN_THE_WAY,
            f"{name}:{USER}",
            f"{USER}, the group of the daemon, is the own group of {name}, who can write where the daemon does",
            f"give {name} another: usermod --gid GROUP {name}",
        )
    for way in seen.weak_ways:
        yield Step(
            IN_THE_WAY,
            way,
            f"the helper makes nothing behind what is not root's alone, and open to pass: {way}",
            "see why it is so, then: chown root PATH; chmod go-w,a+x PATH",
        )
    if seen.strange_audit:
        more = f", and {len(seen.strange_audit) - 1} more" if len(seen.strange_audit) > 1 else ""
        yield Step(
            IN_THE_WAY,
            "audit",
            f"the audit trail is not the daemon's alone: {seen.strange_audit[0]}{more}",
            f"look who changed that, and corral audit verify; then: chown {USER}: FILE && chmod 600 FILE",
        )


def _directory(wanted: Directory, seen: PathSeen | None) -> Iterator[Step]:
    about = f"make the directory {wanted.path} ({wanted.owner}:{wanted.group} {wanted.mode:04o})"
    if seen is None:
        yield Step(MAKE_DIRECTORY, wanted.path, about, "missing")
        return
    if seen.kind != DIRECTORY:
        yield _in_the_way(wanted.path, seen)
        return
    difference = _difference(wanted.owner, wanted.group, wanted.mode, seen)
    if difference:
        yield Step(MAKE_DIRECTORY, wanted.path, about.replace("make", "correct", 1), difference)


def _used_by_others(wanted: Layout, seen: Seen) -> Step:
    """Corral makes no directory its own that somebody uses for something else."""
    first, *more = seen.others_in_workspaces
    return Step(
        IN_THE_WAY,
        wanted.workspaces,
        f"{wanted.workspaces} is to be the place for workspaces, and {first} is in it"
        + (f", and {len(more)} more that are no workspaces" if more else ", which is no workspace"),
        "name a directory that is empty or not there yet: corral host setup --workspaces DIR",
    )


def _file(wanted: File, seen: PathSeen | None) -> Iterator[Step]:
    about = f"write {wanted.path} (root:{wanted.group} {wanted.mode:04o}), {wanted.about}"
    if seen is None:
        yield Step(WRITE_FILE, wanted.path, about, "missing")
        return
    if seen.kind != FILE:
        yield _in_the_way(wanted.path, seen)
        return
    difference = _difference("root", wanted.group, wanted.mode, seen)
    if seen.text != wanted.text:
        difference = ", ".join(filter(None, (difference, "its text is another")))
    if difference:
        yield Step(WRITE_FILE, wanted.path, about, difference)


def _service(service: ServiceSeen, written: set[str], *, rights_changed: bool) -> Iterator[Step]:
    units = written & _UNIT_FILES
    if units or service.unread:
        yield Step(RELOAD_UNITS, SERVICE, "have systemd read its units again", "they changed")
    if not service.enabled:
        yield Step(ENABLE_SERVICE, SERVICE, f"enable {SERVICE}: the daemon starts at boot", "not enabled")
    mute = _not_as_written(service.for_keepers) if service.active else ""
    if service.for_keepers is not None and service.for_keepers.kind != FILE:
        yield _in_the_way(KEEPER_SETTINGS, service.for_keepers)
    elif mute and service.for_keepers is not None:
        yield Step(REMOVE_FILE, KEEPER_SETTINGS, f"remove {KEEPER_SETTINGS}: the daemon writes it anew", mute)
    if not service.active:
        yield Step(START_SERVICE, SERVICE, f"start {SERVICE}", "not running")
    elif service.stale or service.unread or SERVICE_FILE in units:
        yield Step(START_SERVICE, SERVICE, f"start {SERVICE} anew; agents go on", "it runs by an older unit")
    elif rights_changed:
        yield Step(START_SERVICE, SERVICE, f"start {SERVICE} anew; agents go on", "it runs with the groups of before")
    elif service.open_socket is not None:
        why = f"its socket is open to everybody (mode {service.open_socket:04o})"
        yield Step(START_SERVICE, SERVICE, f"start {SERVICE} anew, with a socket of its own; agents go on", why)
    elif service.no_socket:
        why = "its socket is gone, and nobody can reach it"
        yield Step(START_SERVICE, SERVICE, f"start {SERVICE} anew, with a socket; agents go on", why)
    elif mute:
        why = f"{KEEPER_SETTINGS}, without which no keeper starts: {mute}"
        yield Step(START_SERVICE, SERVICE, f"start {SERVICE} anew; agents go on", why)


def _not_as_written(seen: PathSeen | None) -> str:
    """Why that is not what the daemon writes for the units of keepers; empty if it is."""
    if seen is None:
        return "missing"
    if not (seen.text or "").startswith(FOR_KEEPERS.text or ""):
        return "its text is another"
    return _difference(FOR_KEEPERS.owner, FOR_KEEPERS.group, FOR_KEEPERS.mode, seen)


def _people(seen: Seen, unit_changed: bool) -> Iterator[Step]:
    for person in seen.people:
        if person.has_manager and unit_changed:
            yield Step(
                RELOAD_MANAGER,
                person.name,
                f"have the service manager of {person.name} read its units again",
                "they changed",
            )
        if person.lacks:
            yield Step(
                JOIN_MEMBERS if person.lacks == MEMBERS else JOIN_AGENTS,
                person.name,
                f"put {person.name} into the group {person.lacks}",
                "a member, and not in it",
            )
        if not person.lingers:
            yield linger_on(person.name)
        elif not person.has_manager:
            about = f"start the service manager of {person.name}: the keeper runs below it"
            yield Step(START_MANAGER, person.name, about, "it does not run")


def _disarm(wanted: Layout, seen: Seen) -> Iterator[Step]:
    # The daemon ends first, then the right to be root goes: half of this leaves nobody with more than before.
    if seen.service.active or seen.service.enabled:
        yield Step(DISABLE_SERVICE, SERVICE, f"stop {SERVICE} and disable it", "it is enabled or runs")
    if wanted.sudoers.path in seen.paths:
        yield _removal(wanted.sudoers.path)


def _remove_files(wanted: Layout, seen: Seen) -> Iterator[Step]:
    for file in wanted.files:
        if file != wanted.sudoers and file.path in seen.paths:
            yield _removal(file.path)
    if _UNIT_FILES & set(seen.paths) or seen.service.unread:
        yield Step(RELOAD_UNITS, SERVICE, "have systemd read its units again", "they changed")


def _removal(path: str) -> Step:
    return Step(REMOVE_FILE, path, f"remove {path}", "it is there")


def _tidy(wanted: Layout, seen: Seen) -> Iterator[Step]:
    for path in (RUNTIME, NOTES):  # with all that is in them: sockets and notes of ours
        if path in seen.paths:
            yield Step(REMOVE_TREE, path, f"remove {path}", "it is there")
    for directory in reversed(wanted.directories):
        path = directory.path
        if directory.data or path.startswith((RUNTIME, NOTES)) or path not in seen.paths:
            continue
        # Others may have things in it too; then it was not made for us alone, and stays.
        if seen.paths[path].empty or any(other.startswith(path + "/") for other in seen.paths):
            yield Step(REMOVE_DIRECTORY, path, f"remove {path}, if nothing else is in it", "it is there")


def _difference(owner: str, group: str, mode: int, seen: PathSeen) -> str:
    parts = []
    if (seen.owner, seen.group) != (owner, group):
        parts.append(f"it belongs to {seen.owner}:{seen.group}")
    if seen.mode != mode:
        parts.append(f"its mode is {seen.mode:04o}")
    return ", ".join(parts)


def _in_the_way(path: str, seen: PathSeen) -> Step:
    about = f"{path} is there and is a {seen.kind}, which Corral does not replace"
    return Step(IN_THE_WAY, path, about, f"look at it, then: rm {path}")
