"""Containment by nothing but `/proc`: the marker in the environment, and descent from what carries it.

The third and last level. A child that clears its environment *and* is handed to init before we look escapes it; that
is what cgroups are for. `ps` says that an agent runs at this level.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from corral.adapters.procfs import ending, sockets
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process
from corral.domain.environment import RUN_VARIABLE, team_markers
from corral.places import Places
from corral.ports.keeper import Check, Ended, Residue

_RUN = RUN_VARIABLE.encode()


class ProcessContainment:
    """See `ports.containment.Containment`."""

    level = "process"

    def __init__(self, places: Places, instance: str) -> None:
        self._places = places
        self._instance = instance

    async def end_runs(self, team: str, runs: Sequence[str], roots: Sequence[int], grace: float) -> Ended:
        """See `Containment.end_runs`."""
        wanted, root_pids = set(runs), set(roots)

        def find(everyone: list[Process]) -> list[Process]:
            return [
                process
                for process in self._of_team(everyone, team)
                if process.pid in root_pids or _run_of(process) in wanted
            ]

        outcome = await ending.end(find, grace, self._is_launch_shell)
        stuck = {_run_of(process) for process in outcome.left}
        return _ended(outcome, gone=[run for run in runs if run not in stuck])

    async def end_team(self, team: str, grace: float) -> Ended:
        """See `Containment.end_team`."""

        def find(everyone: list[Process]) -> list[Process]:
            return [process for process in self._of_team(everyone, team) if not _is_our_tmux(process)]

        return _ended(await ending.end(find, grace, self._is_launch_shell), gone=[])

    def census(self, team: str) -> list[Check]:
        """See `Containment.census`."""
        ours = self._of_team(proc.every_process(), team)
        listeners = sockets.unix_listeners(self._places.tmux_socket(team))
        holders = sockets.holders(set(listeners))
        servers = {process.pid: process for process in ours if _is_our_tmux(process)}
        for pids in holders.values():
            for pid in pids:
                process = proc.read(pid)
                if process is not None and _is_our_tmux(process):
                    servers.setdefault(pid, process)
        return [
            _check("processes", [_residue(process, "still runs") for process in ours if not _is_our_tmux(process)]),
            _check("tmux_servers", [_residue(process, "still runs") for process in servers.values()]),
            _check(
                "sockets",
                [
                    Residue(kind="socket", name=path, pid=next(iter(holders[inode]), None), why="somebody listens")
                    for inode, path in listeners.items()
                ],
            ),
        ]

    def _is_launch_shell(self, process: Process) -> bool:
        """The shell between tmux and a program. Without it the program loses its terminal before its last words."""
        if process.pid != process.session:
            return False
        words = proc.argument_vector(process.pid)
        return len(words) == 2 and words[1].startswith(os.fsencode(self._places.launch_dir) + b"/")

    def _of_team(self, everyone: list[Process], team: str) -> list[Process]:
        return proc.marked(everyone, team_markers(self._instance, team))


def _run_of(process: Process) -> str | None:
    return proc.marker_value(proc.environment(process.pid), _RUN)


def _is_our_tmux(process: Process) -> bool:
    """The team's own server or a client of it, not a tmux that an agent started for itself."""
    return process.name.startswith("tmux: ") and not proc.is_of_a_run(process)


def _ended(outcome: ending.Ending, gone: list[str]) -> Ended:
    return Ended(
        gone=gone,
        killed=outcome.killed,
        residue=[_residue(process, "did not end, not even when killed") for process in outcome.left],
    )


def _residue(process: Process, why: str) -> Residue:
    if process.state == "D":
        why += " (it waits for the kernel, state D)"
    return Residue(kind="process", name=process.name, pid=process.pid, command=proc.command_line(process.pid), why=why)


def _check(what: str, residue: list[Residue]) -> Check:
    return Check(what=what, found=len(residue), residue=residue)
