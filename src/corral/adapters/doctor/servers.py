"""tmux servers, ours and others', and whether each can still be reached at the path it was bound to."""

from __future__ import annotations

import os
import pwd
import stat

from corral.adapters.doctor import population
from corral.adapters.doctor.population import Population
from corral.adapters.procfs import unix_listeners
from corral.adapters.procfs.processes import Process
from corral.adapters.procfs.unix_listeners import Listener
from corral.adapters.tmux import identity
from corral.domain.diagnosis_facts import REACHABLE, REPLACED, UNCLEAR, UNLINKED, Marks, Server
from corral.places import Places


class Servers:
    """What listens on this host, and which of it is a tmux server."""

    def __init__(self, people: Population, places: Places, uid: int | None = None) -> None:
        """With `uid`, no servers but that user's."""
        self._people = people
        self._places = places
        #: Why not everything could be looked at; empty if it could.
        self.incomplete = ""
        self._listed = True
        self.listeners = self._listeners()
        self._by_inode = {listener.inode: listener for listener in self.listeners}
        self._holders: dict[tuple[int, int], int] = {}
        self._owners: list[tuple[Process, Listener]] = []
        self._uid = os.getuid() if uid is None else uid
        for process in people.servers():
            if uid is not None and _uid_of(process.pid) != uid:
                continue
            for listener in self._sockets_of(process.pid) if self._listed else [self._presumed(process.pid)]:
                self._owners.append((process, listener))
                if listener.file is not None:
                    self._holders[listener.file] = process.pid

    def servers(self) -> tuple[Server, ...]:
        """One for each socket of a tmux server."""
        return tuple(self._server(process, listener) for process, listener in self._owners)

    def listens(self, path: str) -> bool | None:
        """True if somebody listens at this very file, False if nobody does, None if it cannot be told."""
        try:
            file = unix_listeners.identity(os.stat(path))
        except OSError:
            return None
        if any(listener.file == file for listener in self.listeners):
            return True
        presence, _ = identity.server_behind(path)
        return {"present": True, "absent": False}.get(presence)

    def _listeners(self) -> list[Listener]:
        try:
            return unix_listeners.listeners()
        except OSError as error:
            self.incomplete = f"the kernel does not list sockets ({error.strerror or error})"
            self._listed = False
            return []

    def _presumed(self, pid: int) -> Listener:
        """Where a server of ours would listen: what it holds is worth knowing, also if its socket cannot be seen."""
        team = self._people.marks.get(pid, Marks()).team
        return Listener(0, self._places.tmux_socket(team) if team else "", None)

    def _sockets_of(self, pid: int) -> list[Listener]:
        try:
            targets = [os.readlink(f"/proc/{pid}/fd/{entry}") for entry in os.listdir(f"/proc/{pid}/fd")]
        except PermissionError:
            self.incomplete = self.incomplete or "tmux servers of other users can only be looked at by root"
            return []
        except OSError:
            return []
        inodes = [int(target[8:-1]) for target in targets if target.startswith("socket:[")]
        return [self._by_inode[inode] for inode in inodes if inode in self._by_inode]

    def _server(self, process: Process, listener: Listener) -> Server:
        standing, other, blocked = self._standing(process.pid, listener)
        children = self._people.children(process.pid)
        user = _uid_of(process.pid)
        return Server(
            pid=process.pid,
            start=process.start,
            user=_name_of(user),
            mine=user == self._uid,
            path=listener.path,
            standing=standing,
            replaced_by=other,
            elsewhere=_another_name(process.pid, listener) if standing in (UNLINKED, REPLACED) else "",
            blocked=blocked,
            stopped=process.state in "Tt",
            marks=self._people.marks.get(process.pid, Marks()),
            panes=len(children),
            terminals=population.terminals(children, self._places.launch_dir),
            guests=population.guests(children, self._places.launch_dir),
        )

    def _standing(self, pid: int, listener: Listener) -> tuple[str, int | None, bool]:
        """How it stands at the path, who else listens there, and whether what is there is no socket."""
        if not self._listed:
            return UNCLEAR, None, False
        path = _as_seen_by(pid, listener.path)
        try:
            info = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return UNLINKED, None, False
        except OSError:
            return UNCLEAR, None, False
        file = unix_listeners.identity(info)
        if file == listener.file:
            return REACHABLE, None, False
        if not stat.S_ISSOCK(info.st_mode):
            return REPLACED, None, True
        if file in self._holders:
            return REPLACED, self._holders[file], False
        # Nobody's that is known, or a file system whose numbers differ from the kernel's: then the peer tells.
        presence, peer = identity.server_behind(path)
        if presence == "unknown":
            return UNCLEAR, None, False
        if peer is not None and peer.pid == pid:
            return REACHABLE, None, False
        return REPLACED, peer.pid if peer is not None else None, False


def _another_name(pid: int, listener: Listener) -> str:
    """A name beside its path that leads to its socket: somebody moved it, or the doctor set it aside."""
    directory = os.path.dirname(listener.path)
    if listener.file is None:
        return ""
    try:
        with os.scandir(_as_seen_by(pid, directory)) as entries:
            for entry in entries:
                if unix_listeners.identity(entry.stat(follow_symlinks=False)) == listener.file:
                    return os.path.join(directory, entry.name)
    except OSError:
        return ""
    return ""


def _as_seen_by(pid: int, path: str) -> str:
    """The path as the process means it: in a container the same path may be another place."""
    try:
        if os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt"):
            root = os.readlink(f"/proc/{pid}/root")
            return path if root == os.readlink("/proc/self/root") else f"/proc/{pid}/root{path}"
    except OSError:
        return path
    return f"/proc/{pid}/root{path}"


def _uid_of(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
