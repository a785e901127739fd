"""Whose a cgroup is, written on the cgroup itself.

systemd knows whose scope it is by its description. When systemd does not answer, this still tells: an extended
attribute that goes with the cgroup and outlives every process of ours.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from corral.adapters.cgroup.tree import Cgroup

_ATTRIBUTE = "user.corral"


def mark(group: Cgroup, instance: str, team: str, agent: str) -> None:
    """Write it. A kernel that cannot keep it (before 5.7) leaves us with what systemd says."""
    with contextlib.suppress(OSError):
        os.setxattr(group.path, _ATTRIBUTE, f"{instance}/{team}/{agent}".encode())


def marked(top: Cgroup, instance: str, team: str) -> Iterator[tuple[str, Cgroup]]:
    """The cgroups below `top` that were marked for a team, each with the agent."""
    for child in top.children():
        if child.name.endswith(".slice"):
            yield from marked(child, instance, team)
        elif child.name.endswith(".scope"):
            agent = _agent(child, f"{instance}/{team}/")
            if agent:
                yield agent, child


def _agent(group: Cgroup, prefix: str) -> str:
    try:
        text = os.getxattr(group.path, _ATTRIBUTE).decode("ascii", "replace")
    except OSError:
        return ""
    return text.removeprefix(prefix) if text.startswith(prefix) else ""
