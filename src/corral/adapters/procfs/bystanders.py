"""Processes that are not ours and live in a workspace: a shell or an editor of a person. Named, never touched."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from corral.adapters.procfs import processes as proc
from corral.ports.census import Bystander


def living_in(directories: Sequence[str], markers: Sequence[bytes], asking: int) -> list[Bystander]:
    """Who has one of these directories, or one below, as its working directory and does not carry our markers.

    One look at all processes, however many directories. Of other people's processes only root can see where they are.
    The process `asking` and its parents are left out: whoever takes a team down knows where they are.
    """
    left_out = proc.with_parents(asking)
    wanted = {os.path.realpath(directory) for directory in directories}
    found = []
    for process in proc.every_process():
        if process.pid in left_out:
            continue
        with contextlib.suppress(OSError):
            where = os.readlink(f"/proc/{process.pid}/cwd")
            directory = _one_of(wanted, where)
            if directory is not None and not proc.marked([process], markers):
                command = proc.command_line(process.pid)
                found.append(Bystander(pid=process.pid, command=command, directory=directory))
    return found


def _one_of(directories: set[str], path: str) -> str | None:
    """The one of `directories` that the path is, or is below."""
    while path not in directories:
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent
    return path
