"""The cgroups of an instance: `corral-<instance>/<team>/<agent>` below a delegated cgroup.

A cgroup counts as ours by its place below such a directory and by nothing else. An earlier keeper may have found
another place than this one did; its directories are looked for and count too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
from collections.abc import Callable, Iterable
from typing import TypeVar

from corral.adapters.cgroup import delegation, killing
from corral.adapters.cgroup import limits as limit_files
from corral.adapters.cgroup.delegation import PREFIX, Delegation
from corral.adapters.cgroup.tree import Cgroup
from corral.domain.limits import Limits
from corral.ports.containment import SERVERS

#: What is no team begins so; the name of a team never does.
_NO_TEAM = "_"
#: Where this process goes if it stands in the way.
_OWN_PLACE = _NO_TEAM + "keeper"
_DAEMON = _NO_TEAM + "daemon"
_ATTEMPTS = 5

T = TypeVar("T")


class Home:
    """All cgroups of one instance. Nothing is made before it is needed."""

    def __init__(self, given: Delegation, instance: str) -> None:
        self._given = given
        self._instance = instance
        self._top = given.root.child(PREFIX + instance)
        self._tops = [self._top]
        self.look()

    def look(self) -> None:
        """Look for directories of the instance anywhere in the tree."""
        found = delegation.homes(self._given.hierarchy, self._instance)
        self._tops = [self._top, *(top for top in found if top != self._top)]

    def settle(self) -> None:
        """Move this process away if it is in a cgroup of an agent, or where it forbids controllers. Raises `OSError`.

        Anything that this process starts afterwards is born in its new place.
        """
        self._clear()
        if self._is_in_the_way(os.getpid()):
            self._house(_OWN_PLACE, os.getpid())

    def shelter(self, team: str, pid: int, what: str) -> None:
        """Give a server of a team a cgroup of its own, where no agent's end reaches it. Raises `OSError`."""
        self._house(_server(what, team), pid)

    def shelter_daemon(self, pid: int) -> None:
        """The same as `settle` for the daemon. Elsewhere it may stay: a cgroup that it is the last to leave would be
        left behind, with nobody to remove it. Raises `OSError`.
        """
        if self._is_in_the_way(pid):
            self._house(_DAEMON, pid)

    def shelters(self, team: str) -> list[Cgroup]:
        """The cgroups of the team's servers that exist."""
        names = [_server(what, team) for what in SERVERS]
        return [group for top in self._tops for name in names if (group := top.child(name)).exists()]

    def _is_in_the_way(self, pid: int) -> bool:
        """True for a process that would end with an agent, or because of which nothing can be limited."""
        place = self._given.hierarchy.of_process(pid)
        if place is None or os.path.basename(place.path).startswith(_NO_TEAM):
            return False
        at_the_root = place == self._given.root and place.read("cgroup.type") is not None
        return (at_the_root and bool(self._given.controllers)) or any(top.holds(pid) for top in self._tops)

    def _house(self, name: str, pid: int) -> None:

        def move() -> None:
            self._top.make()
            place = self._top.child(name)
            place.make()
            place.admit(pid)

        _persistently(move)

    # Teams and agents

    def teams(self, team: str) -> list[Cgroup]:
        """The cgroups of a team that exist."""
        return [group for top in self._tops if (group := top.child(team)).exists()]

    def agents(self, team: str, names: Iterable[str]) -> dict[str, list[Cgroup]]:
        """The cgroups that exist of each of the agents; an agent that has none is left out."""
        if not team or not all(names := list(names)):
            raise ValueError("without a name this would be the cgroup of everybody")
        places = self.teams(team)
        found = {name: [group for place in places if (group := place.child(name)).exists()] for name in names}
        return {name: groups for name, groups in found.items() if groups}

    def place(self, team: str) -> Cgroup:
        """The cgroup of a team, made if need be, with controllers for what is in it. Raises `OSError`."""
        group = self._top.child(team)

        def make() -> None:
            self._top.make()
            group.make()

        _persistently(make)
        for one in (self._given.root, self._top, group):
            delegation.enable(one, self._given.controllers)
        return group

    def admit(self, team: str, agent: str, pid: int, limits: Limits) -> list[str]:
        """Put a process into the cgroup of an agent, with limits set first; which of them are not enforced, and why.

        Raises `OSError` if the process is not in it, and `ProcessLookupError` if it ended meanwhile.
        """

        def move() -> list[str]:
            group = self.place(team).child(agent)
            group.make()
            # What is left of an earlier run may have been paused.
            killing.thaw(group)
            problems = limit_files.write(group, limits)
            group.admit(pid)
            return problems

        descriptor = os.pidfd_open(pid)
        try:
            problems = _persistently(move)
            if select.select([descriptor], [], [], 0)[0]:
                raise ProcessLookupError(errno.ESRCH, f"process {pid} ended")
        finally:
            os.close(descriptor)
        return problems

    def remove_team(self, team: str) -> None:
        """Remove what is empty of a team, and of the instance if nothing else is in it."""
        for top in self._tops:
            top.child(team).remove()
        self._clear()

    def _clear(self) -> None:
        for top in self._tops:
            for child in top.children():
                if os.path.basename(child.path).startswith(_NO_TEAM) and not child.populated():
                    child.remove()
            with contextlib.suppress(OSError):
                os.rmdir(top.path)  # not with what is in it: a team that comes up just now may be


def _server(what: str, team: str) -> str:
    return f"{_NO_TEAM}{what}-{team}"


def _persistently(make: Callable[[], T]) -> T:
    """Somebody who takes a team down may remove a directory that is still empty while we fill it; not for ever."""
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError):
            return make()
    return make()
