"""An agent's cgroup without the processes that were started for the agent: each of those has a cgroup of its own below.

They belong to the agent and not to its run: when the run ends, or is started again by policy, they go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from corral.adapters.cgroup import ending
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import ending as by_signal
from corral.adapters.procfs.ending import Ending
from corral.adapters.procfs.processes import Process

#: Such a cgroup is called so, and the rest of its name is the process's.
PROCESS_PREFIX = "process-"


def process_groups(group: Cgroup) -> list[Cgroup]:
    """The cgroups of processes directly below that of an agent."""
    return [child for child in group.children() if os.path.basename(child.path).startswith(PROCESS_PREFIX)]


def holds(group: Cgroup, *, spare: bool) -> bool:
    """True if something runs in it; with `spare`, besides what has a cgroup of its own."""
    if not spare or not any(child.populated() for child in process_groups(group)):
        return group.populated()
    return bool(group.own_pids()) or any(child.populated() for child in _others(group))


async def end(groups: Sequence[Cgroup], grace: float, ends_last: Callable[[Process], bool], *, spare: bool) -> Ending:
    """As `ending.end`; with `spare`, what has a cgroup of its own is left alone."""
    shared = [group for group in groups if spare and any(child.populated() for child in process_groups(group))]
    if not shared:
        return await ending.end(groups, grace, ends_last)
    whole = [group for group in groups if group not in shared]
    outcome = await ending.end([*whole, *(child for group in shared for child in _others(group))], grace, ends_last)

    def directly_inside(everyone: list[Process]) -> list[Process]:
        pids = {pid for group in shared for pid in group.own_pids()}
        return [process for process in everyone if process.pid in pids]

    # One by one: to kill a cgroup is to kill all below it.
    rest = await by_signal.end(directly_inside, grace, ends_last)
    return Ending(killed=outcome.killed + rest.killed, left=[*outcome.left, *rest.left])


def _others(group: Cgroup) -> list[Cgroup]:
    spared = process_groups(group)
    return [child for child in group.children() if child not in spared]
