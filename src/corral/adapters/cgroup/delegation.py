"""Finding a part of the cgroup tree that was left to us, and proving that it can be used.

A part is *delegated* if whoever runs the host says so: by letting an ordinary user write it, or by the mark that
systemd puts on a unit with `Delegate=`. Root may write everything; that proves nothing. So on a host with systemd root
needs the mark as well, and without systemd root gets the cgroup it is in, and nothing above it: limits may have been
put there for a reason.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from corral.adapters.cgroup import hierarchy as hierarchies
from corral.adapters.cgroup.hierarchy import Hierarchy
from corral.adapters.cgroup.limits import CONTROLLERS
from corral.adapters.cgroup.tree import Cgroup

#: Directories of ours in the tree begin with it, and so do units at the level of systemd.
PREFIX = "corral-"
#: A cgroup that is there only while somebody tries whether one can be.
_PROBE = PREFIX + "probe-"
_MARKS = ("user.delegate", "trusted.delegate")
_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Step:
    """One cgroup on the way from ours to the root, as far as it matters here."""

    group: Cgroup
    #: We may make cgroups in it, move processes into them, and enable controllers for them.
    writable: bool
    #: systemd says that it left it to somebody.
    marked: bool


@dataclass(frozen=True, slots=True)
class Delegation:
    """A subtree that was proved to be usable."""

    hierarchy: Hierarchy
    #: Cgroups may be made in it.
    root: Cgroup
    #: Controllers that can be enabled for cgroups in it, and so the limits that will be enforced.
    controllers: frozenset[str]
    #: Why these are not all; empty if they are.
    why: str


def find(instance: str) -> Delegation | str:
    """The subtree to use for an instance, or why there is none. Proves it with a cgroup and a process of its own.

    Blocks for some milliseconds, and leaves nothing behind. The same from wherever in the subtree it is asked.
    """
    found = hierarchies.find()
    if isinstance(found, str):
        return found
    own = found.of_process(os.getpid())
    if own is None:
        return "the cgroup of this process cannot be seen"
    candidates = choose(
        _way_up(found, own), instance=instance, root=os.geteuid() == 0, systemd=os.path.isdir("/run/systemd/system")
    )
    if isinstance(candidates, str):
        return candidates
    usable: list[Delegation] = []
    problem = ""
    for group in candidates:
        problem = probe(group)
        if not problem:
            controllers = available(group)
            usable.append(Delegation(found, group, controllers, _why_not_all(group, controllers)))
    # The one in which most can be limited; the highest of several, because every keeper finds the same there.
    return max(usable, key=lambda one: len(one.controllers), default=problem)


def choose(way_up: Sequence[Step], *, instance: str, root: bool, systemd: bool) -> list[Cgroup] | str:
    """The cgroups on the way up that were left to us, highest first; or why there is none. Pure."""
    steps = list(way_up)
    parts = steps[0].group.name.split("/")
    # Started by one of our own agents? Then what we make must not be in that agent's cgroup, and end with it.
    ours = next((at for at, part in enumerate(parts) if part == PREFIX + instance), None)
    if ours is not None:
        above = "/".join(parts[:ours]) or "/"
        steps = [
            step for step in steps if step.group.name == above or above.startswith(step.group.name.rstrip("/") + "/")
        ]
    if not steps:
        return f"the cgroup above {PREFIX}{instance} cannot be seen"
    # In an agent of another instance? Then everything has to stay in it.
    if any(part.startswith(PREFIX) for part in steps[0].group.name.split("/")):
        steps = steps[:1]
    own = steps[0]
    if not own.writable:
        return f"{own.group.path}/cgroup.procs is not writable"
    writable = []
    for step in steps:
        if not step.writable:
            break
        writable.append(step)
    marked = next((at for at, step in enumerate(writable) if step.marked), None)
    top = writable[-1].group.name.rsplit("/", 1)[-1]
    by_mark = systemd and (root or (top.startswith("user@") and top.endswith(".service")))
    if by_mark:
        if marked is None or (not root and marked == len(writable) - 1):
            return f"{own.group.path} is managed by systemd and not delegated"
        writable = writable[: marked + 1]
    elif root:
        writable = writable[: (marked or 0) + 1]
    return [step.group for step in reversed(writable)]


def available(group: Cgroup) -> frozenset[str]:
    """The controllers that cgroups below this one have or could be given."""
    enabled = group.words("cgroup.subtree_control")
    wanted = group.words("cgroup.controllers") & set(CONTROLLERS)
    return frozenset(wanted & enabled if _has_inner_processes(group) else wanted)


def enable(group: Cgroup, controllers: frozenset[str]) -> None:
    """Enable controllers for the cgroups in this one. What fails is not enabled, and `limits.write` tells it."""
    for controller in sorted(controllers - group.words("cgroup.subtree_control")):
        with contextlib.suppress(OSError):
            group.write("cgroup.subtree_control", "+" + controller)


def homes(hierarchy: Hierarchy, instance: str) -> list[Cgroup]:
    """Every `corral-<instance>` in the tree that is ours, wherever an earlier keeper found its place."""
    found = []
    waiting = [Cgroup(name=hierarchy.root, path=hierarchy.mount)]
    while waiting:
        group = waiting.pop()
        name = os.path.basename(group.path)
        if name == PREFIX + instance and _owner(group) == os.geteuid():
            found.append(group)
        elif name.startswith(PREFIX) and len(name) == len(PREFIX) + len(instance):
            continue  # of another instance: what is in there is not ours, and may be deep
        else:
            waiting.extend(group.children())
    return found


def probe(group: Cgroup) -> str:
    """Why nothing can be put into cgroups below this one; empty if it can. Leaves nothing behind."""
    child = group.child(f"{_PROBE}{os.getpid()}")
    _clear_probes(group)
    try:
        os.mkdir(child.path)
    except OSError as error:
        return f"no cgroup can be made in {group.path}: {error.strerror}"
    # cat ends by itself when we do.
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        child.admit(process.pid)
        return "" if child.holds(process.pid) else f"a process that was moved into {group.path} did not stay there"
    except OSError as error:
        return f"no process can be moved into cgroups of {group.path}: {error.strerror}"
    finally:
        process.kill()
        process.communicate(timeout=_PROBE_SECONDS)
        child.remove()


def _clear_probes(group: Cgroup) -> None:
    """Remove what others left who were killed while they probed; what is in use is not empty, or its maker lives."""
    for child in group.children():
        name = os.path.basename(child.path)
        if name.startswith(_PROBE) and not os.path.exists(f"/proc/{name.removeprefix(_PROBE)}"):
            with contextlib.suppress(OSError):
                os.rmdir(child.path)


def _way_up(hierarchy: Hierarchy, own: Cgroup) -> list[Step]:
    steps = []
    name = own.name
    while (group := hierarchy.cgroup(name)) is not None:
        files = (group.path, group.path + "/cgroup.procs", group.path + "/cgroup.subtree_control")
        steps.append(Step(group, writable=all(os.access(file, os.W_OK) for file in files), marked=_is_marked(group)))
        if name == "/":
            break
        name = name.rsplit("/", 1)[0] or "/"
    return steps


def _is_marked(group: Cgroup) -> bool:
    for mark in _MARKS:
        with contextlib.suppress(OSError):
            if os.getxattr(group.path, mark) == b"1":
                return True
    return False


def _has_inner_processes(group: Cgroup) -> bool:
    """True if processes in the cgroup itself forbid controllers below it. The root of all is free to have both.

    This process does not count: it can step into a cgroup below.
    """
    return group.read("cgroup.type") is not None and bool(group.words("cgroup.procs") - {str(os.getpid())})


def _why_not_all(group: Cgroup, controllers: frozenset[str]) -> str:
    missing = [name for name in CONTROLLERS if name not in controllers]
    if not missing:
        return ""
    there = group.words("cgroup.controllers")
    blocked = [name for name in missing if name in there]
    if blocked:
        return f"there are processes in {group.path} itself, so {', '.join(blocked)} cannot be limited in it"
    return f"{group.path} has no controller for {', '.join(missing)}"


def _owner(group: Cgroup) -> int:
    try:
        return os.stat(group.path).st_uid
    except FileNotFoundError:
        return -1
