"""Doing the steps of a plan, as root. Each can be done again: who was interrupted runs the same command once more."""

from __future__ import annotations

import grp
import os
import pwd
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping

from corral.adapters.host import tools
from corral.domain import host_plan
from corral.domain.errors import CorralError, RefusedError
from corral.domain.host_layout import File, Layout
from corral.domain.host_names import (
    AGENTS,
    HOME,
    KEEPER_SERVICE,
    LINGER_NOTES,
    MEMBERS,
    PLACE_NOTES,
    SHELL,
    SUDOERS,
    USER,
)
from corral.domain.host_plan import Step

_UMASK = 0o022


class Hands:
    """Does the steps of plans for one layout."""

    def __init__(self, wanted: Layout) -> None:
        self._directories = {one.path: one for one in wanted.directories}
        self._files = {one.path: one for one in wanted.files}
        self._sudoers = wanted.sudoers
        self._workspaces = wanted.workspaces
        self._deeds: Mapping[str, Callable[[str], None]] = {
            host_plan.ADD_GROUP: lambda name: _tool("groupadd", "--system", name),
            host_plan.ADD_USER: _add_user,
            host_plan.MEND_USER: lambda name: _tool("usermod", "--shell", SHELL, name),
            host_plan.LOCK_USER: lambda name: _tool("usermod", "--lock", name),
            host_plan.MAKE_DIRECTORY: self._make_directory,
            host_plan.WRITE_FILE: lambda path: _write(self._files[path]),
            host_plan.RELOAD_UNITS: lambda _: _tool("systemctl", "daemon-reload"),
            host_plan.ENABLE_SERVICE: lambda unit: _tool("systemctl", "enable", "--quiet", unit),
            host_plan.START_SERVICE: _start,
            host_plan.RELOAD_MANAGER: lambda user: _manager(user, "daemon-reload"),
            host_plan.LINGER_ON: _linger_on,
            host_plan.START_MANAGER: _start_manager,
            host_plan.JOIN_MEMBERS: lambda user: _tool("gpasswd", "--add", user, MEMBERS),
            host_plan.JOIN_AGENTS: lambda user: _tool("gpasswd", "--add", user, AGENTS),
            host_plan.LEAVE_MEMBERS: lambda user: _tool("gpasswd", "--delete", user, MEMBERS),
            host_plan.LEAVE_AGENTS: lambda user: _tool("gpasswd", "--delete", user, AGENTS),
            host_plan.JOIN_USER: lambda pair: _tool("gpasswd", "--add", *pair.split(":")),
            host_plan.LEAVE_USER: lambda pair: _tool("gpasswd", "--delete", *pair.split(":")),
            host_plan.DISABLE_SERVICE: lambda unit: _tool("systemctl", "disable", "--quiet", "--now", unit),
            host_plan.STOP_KEEPER: lambda user: _manager(user, "stop", KEEPER_SERVICE),
            host_plan.LINGER_OFF: _linger_off,
            host_plan.REMOVE_FILE: os.unlink,
            host_plan.REMOVE_DIRECTORY: _remove_if_empty,
            host_plan.REMOVE_TREE: _remove_tree,
            host_plan.DELETE_USER: lambda name: _tool("userdel", name),
            host_plan.DELETE_GROUP: _delete_group,
        }

    def do(self, step: Step) -> None:
        """Take one step, wholly or with an error that says what is in the way.

        Whatever the umask of who set this up: what is above a directory or a file is made as well, and others than root
        have to get through it.
        """
        before = os.umask(_UMASK)
        try:
            self._deeds[step.action](step.subject)
        finally:
            os.umask(before)

    def check_sudoers(self) -> None:
        """Refuse if visudo does not take the file, before anything is done at all."""
        with tempfile.TemporaryDirectory(prefix="corral-", dir="/run") as directory:
            path = os.path.join(directory, "sudoers")
            with open(path, "x", encoding="utf-8") as file:
                os.fchmod(file.fileno(), self._sudoers.mode)
                file.write(self._sudoers.text)
            _visudo(path)

    def _make_directory(self, path: str) -> None:
        wanted = self._directories[path]
        uid, gid = pwd.getpwnam(wanted.owner).pw_uid, grp.getgrnam(wanted.group).gr_gid
        if path == self._workspaces:
            _note_places(path)
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        if not os.path.lexists(path):
            os.mkdir(path, 0o700)
        # No link can come in its place: everything above it is root's.
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            os.fchown(handle, uid, gid)
            os.fchmod(handle, wanted.mode)
        finally:
            os.close(handle)


def _note_places(path: str) -> None:
    """Note what is about to be made, so that a removal finds it when workspaces have moved elsewhere since."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    with open(PLACE_NOTES, "a", encoding="ascii") as file:
        file.writelines(f"{one}\n" for one in missing)


def _tool(name: str, *arguments: str) -> None:
    tools.do(name, *arguments)


def _add_user(name: str) -> None:
    _tool(
        "useradd", "--system", "--gid", USER, "--home-dir", HOME, "--no-create-home", "--shell", SHELL,
        "--comment", "Corral's daemon", name,
    )  # fmt: skip


def _delete_group(name: str) -> None:
    # Some hosts have the group of a user go with the user.
    if any(group.gr_name == name for group in grp.getgrall()):
        _tool("groupdel", name)


def _write(wanted: File) -> None:
    """Put the file in its place whole, with owner and mode, or not at all; one for sudo only if visudo takes it."""
    directory, name = os.path.split(wanted.path)
    os.makedirs(directory, mode=0o755, exist_ok=True)
    # sudo reads no file whose name has a dot in it, and systemd none that begins with one.
    new = os.path.join(directory, f".{name}.{secrets.token_hex(4)}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            os.fchown(handle, 0, grp.getgrnam(wanted.group).gr_gid)
            os.fchmod(handle, wanted.mode)
            file.write(wanted.text)
            file.flush()
            os.fsync(handle)
        if wanted.path == SUDOERS:
            _visudo(new)
        os.rename(new, wanted.path)
    except BaseException:
        os.unlink(new)
        raise


def _visudo(path: str) -> None:
    done = tools.ask("visudo", "--check", "--strict", f"--file={path}")
    if done.returncode:
        raise RefusedError(
            f"visudo refuses the file for /etc/sudoers.d, so it was not installed: {done.stderr.strip()}",
            "this sudo is not one that Corral knows; report it with the output of sudo --version",
        )


def _start(unit: str) -> None:
    done = tools.ask("systemctl", "restart", unit)
    if done.returncode:
        raise CorralError(
            f"{unit} does not start: {done.stderr.strip()}", f"journalctl --unit {unit} says why; then run this again"
        )


def _manager(user: str, *arguments: str) -> None:
    """Tell the service manager of a user. systemd becomes that user for it; Corral does so in its helper alone."""
    _tool("systemctl", "--user", f"--machine={user}@.host", *arguments)


def _linger_on(user: str) -> None:
    # The note comes first: whoever is interrupted leaves nothing on that nobody would turn off.
    with open(os.path.join(LINGER_NOTES, user), "a", encoding="ascii"):
        _tool("loginctl", "enable-linger", user)
        _start_manager(user)


def _start_manager(user: str) -> None:
    _tool("systemctl", "start", f"user@{pwd.getpwnam(user).pw_uid}.service")


def _linger_off(user: str) -> None:
    if any(account.pw_name == user for account in pwd.getpwall()):
        _tool("loginctl", "disable-linger", user)
    os.unlink(os.path.join(LINGER_NOTES, user))


def _remove_if_empty(path: str) -> None:
    if not os.listdir(path):
        os.rmdir(path)


def _remove_tree(path: str) -> None:
    if not shutil.rmtree.avoids_symlink_attacks:
        raise RefusedError(f"{path} cannot be removed safely by this Python", f"rm -r {path} does")
    for place in _mounted_below(path):
        _tool("umount", "--lazy", place)
    shutil.rmtree(path)


def _mounted_below(path: str) -> list[str]:
    """What is mounted in a directory, such as the places of keepers; the last one first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        places = [line.split(" ")[4] for line in file]
    return [place for place in reversed(places) if place.startswith(f"{path}/")]
