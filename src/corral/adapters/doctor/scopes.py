"""Scopes of the user's service manager, and what the kernel says is in each."""

from __future__ import annotations

import os

from corral.adapters.procfs import processes as proc
from corral.domain.diagnosis_facts import Scope
from corral.domain.diagnosis_scopes import is_watched
from corral.ports.doctor import ScopeUnit, UserUnits

#: Where cgroups are mounted, unless a caller says otherwise.
ROOT = "/sys/fs/cgroup"


def look(units: UserUnits, root: str = "") -> tuple[Scope, ...]:
    """The scopes that the doctor watches, with their processes."""
    return tuple(_scope(unit, root) for unit in units.list_scopes() if is_watched(unit.name))


def is_empty(control_group: str, root: str = "") -> bool:
    """True if no process is in the cgroup or below it, or if there is no such cgroup any more."""
    return populated(control_group, root) is False


def populated(control_group: str, root: str = "") -> bool | None:
    """As `cgroup.events` says; None if that cannot be told."""
    if not control_group:
        return False
    directory = _directory(control_group, root)
    if directory is None:
        return False
    try:
        with open(os.path.join(directory, "cgroup.events"), encoding="ascii") as file:
            return "populated 1" in file.read().splitlines()
    except FileNotFoundError:
        return bool(_pids(directory))  # cgroup v1 counts nothing
    except OSError:
        return None


def groups_below(control_group: str, root: str = "") -> list[str]:
    """The cgroups below one, as they are named in their hierarchy."""
    directory = _directory(control_group, root)
    if directory is None:
        return []
    top = directory.removesuffix(control_group)
    return [f"/{os.path.relpath(path, top)}" for path, _, _ in os.walk(directory) if path != directory]


def _scope(unit: ScopeUnit, root: str) -> Scope:
    name, active, control_group, description = unit
    full = populated(control_group, root)
    directory = _directory(control_group, root) if full and control_group else None
    return Scope(
        name=name,
        active=active,
        control_group=control_group,
        description=description,
        populated=full,
        processes=tuple((pid, proc.command_line(pid)) for pid in _pids(directory)) if directory else (),
    )


def _directory(control_group: str, root: str) -> str | None:
    """Where it is mounted: v2, v1 with v2 beside it, or v1 with systemd's own hierarchy."""
    for below in ("", "unified", "systemd"):
        path = os.path.join(root or ROOT, below, control_group.lstrip("/"))
        if os.path.isdir(path):
            return path
    return None


def _pids(directory: str) -> list[int]:
    found = []
    for path, _, files in os.walk(directory):
        if "cgroup.procs" in files:
            try:
                with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as file:
                    found += [int(line) for line in file]
            except OSError:
                continue  # gone, or threaded
    return sorted(found)
