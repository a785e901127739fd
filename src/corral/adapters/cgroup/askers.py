"""Who is behind a connection: the very process that made it, what it descends from, and whether Corral started that.

A deny-list of the members of agents is not enough for this: tmux servers and process hosts, the keeper and the git that
it runs, all start programs that an agent can choose. Servers take the orphans of what is below them, so a second fork
does not lead out of their descent.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from corral.adapters.cgroup.delegation import PREFIX
from corral.adapters.cgroup.tree import unified_name_of
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process
from corral.domain import units
from corral.ports.dialogs import Behind

#: A parent may end while we go up, and what it leaves has another one then: so often we begin anew.
_ATTEMPTS = 5
_TICKS = os.sysconf("SC_CLK_TCK")


def behind(pid: int, seen: float, instance: str) -> Behind | None:
    """What the process descends from that had this pid at a time (seconds after boot). None in case of doubt.

    None, too, if it has ended: whose it was cannot be told any more, and its pid may be another's.
    """
    above = lineage_of(pid, seen)
    if not above:
        return None
    ours = _started_by_corral(above, instance)
    return Behind(
        pids=frozenset(process.pid for process in above), ours=f"{ours.name}, process {ours.pid}" if ours else ""
    )


def lineage_of(pid: int, seen: float) -> list[Process]:
    """The process that had this pid at a time, its parent, and so on up. None at all in case of doubt."""
    for _ in range(_ATTEMPTS):
        process = proc.read(pid)
        if process is None or process.state in proc.ENDED_STATES or process.start / _TICKS > seen:
            return []
        found = [process]
        while found[-1].parent:
            parent = proc.read(found[-1].parent)
            if parent is None or parent.start > found[-1].start:
                break  # it ended just now, and what has its pid is another
            found.append(parent)
        else:
            return found
    return []


def _started_by_corral(above: Sequence[Process], instance: str) -> Process | None:
    """The nearest of these that this instance of Corral is, or has started, as its environment or its cgroup says."""
    marked = {process.key for process in proc.marked(above, [b"CORRAL_INSTANCE=" + instance.encode()])}
    for process in above:
        if process.key in marked or is_own_place(unified_name_of(process.pid) or "", instance):
            return process
    return None


def is_own_place(cgroup: str, instance: str) -> bool:
    """True if a cgroup is in one that only Corral puts processes into: a scope or a directory of this instance."""
    return any(name == PREFIX + instance or units.is_own_place(name, instance) for name in cgroup.split("/"))
