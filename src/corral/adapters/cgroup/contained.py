"""Ending and counting what is in cgroups and what left them, for every level of containment that has cgroups.

Everything an agent starts is born in the agent's cgroup and stays there, whatever it does to its session, its parents
or its environment. Only by moving itself to another cgroup can it leave. What does is still known by the marker in its
environment: the level below sweeps after the cgroups are empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol

import msgspec

from corral.adapters.cgroup import ending, killing, sparing
from corral.adapters.cgroup.tree import Cgroup, unified_name_of
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.ending import Ending
from corral.adapters.procfs.processes import Process
from corral.domain.errors import CorralError
from corral.ports.census import Check, Residue
from corral.ports.runs import Ended

#: What left its cgroup is asked only after the others ended; it has this part of the grace period at least.
_SWEEP_SHARE = 0.25
_FREEZE_SECONDS = 5.0


class Sweep(Protocol):
    """The level below, which knows processes by their marker: `ProcessContainment`."""

    def is_launch_shell(self, process: Process) -> bool: ...
    async def end_runs(
        self, team: str, runs: Mapping[str, str], roots: Sequence[int], grace: float, *, spare: bool
    ) -> Ended: ...
    async def note_ports(self, team: str, also: Iterable[int]) -> None: ...
    async def end_rest(self, team: str, grace: float) -> Ended: ...
    async def freeze_except(self, team: str, runs: Mapping[str, str], held: Set[int], *, frozen: bool) -> None: ...
    async def members(self, team: str) -> dict[str, list[int]]: ...
    async def census(self, team: str) -> list[Check]: ...


class Contained:
    """Both levels together. The caller says which cgroups there are."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep

    async def end_runs(
        self,
        team: str,
        runs: Mapping[str, str],
        roots: Sequence[int],
        grace: float,
        groups: Mapping[str, Sequence[Cgroup]],
        *,
        spare: bool,
    ) -> Ended:
        """End these runs (run → agent) with everything in the cgroups of their agents. The cgroups stay.

        With `spare`, cgroups of processes that were started for the agents are left alone.
        """
        rest = _Rest(grace)
        every = [group for found in groups.values() for group in found]
        outcome = await sparing.end(every, grace, self._sweep.is_launch_shell, spare=spare)
        swept = await self._sweep.end_runs(team, runs, roots, rest.left(), spare=spare)
        held = {agent for agent, found in groups.items() if any(sparing.holds(group, spare=spare) for group in found)}
        return _together(outcome, swept, gone=[run for run in swept.gone if runs[run] not in held])

    async def end_team(self, team: str, grace: float, groups: Sequence[Cgroup]) -> Ended:
        """End every process of the team, except for its tmux server. The cgroups stay."""
        await self._sweep.note_ports(team, [pid for group in groups for pid in group.pids()])
        rest = _Rest(grace)
        outcome = await ending.end(groups, grace, self._sweep.is_launch_shell)
        swept = await self._sweep.end_rest(team, rest.left())
        return _together(outcome, swept, gone=swept.gone)

    async def freeze(
        self, team: str, runs: Mapping[str, str], agents: Mapping[str, Sequence[Cgroup]], *, frozen: bool
    ) -> None:
        """Have these runs (run → agent) and all in the cgroups of their agents stand still, or go on.

        What left its cgroup is stopped by signal: a tmux of the agent's own has systemd move its panes elsewhere.
        Raises if one does not stand still; it is asked to, all the same.
        """
        groups = {group: agent for agent, found in agents.items() for group in found}
        if not frozen:
            for group in groups:
                killing.thaw(group)
        still = await asyncio.gather(*(killing.freeze(group, _FREEZE_SECONDS) for group in groups if frozen))
        held = {pid for group in groups for pid in group.pids()}
        await self._sweep.freeze_except(team, runs, held, frozen=frozen)
        moving = [agent for agent, done in zip(groups.values(), still, strict=False) if not done]
        if moving:
            raise CorralError(
                f"{', '.join(moving)} did not stand still within {_FREEZE_SECONDS:g} seconds",
                "a process of it waits for the kernel (state D); the rest of it stands still",
            )

    async def members(self, team: str, agents: Mapping[str, Sequence[Cgroup]]) -> dict[str, list[int]]:
        """Agent → the pids of all in its cgroups, and of what left them and still carries its marker."""
        found = {agent: dict.fromkeys(pids) for agent, pids in (await self._sweep.members(team)).items()}
        for agent, groups in agents.items():
            for group in groups:
                found.setdefault(agent, {}).update(dict.fromkeys(group.pids()))
        return {agent: list(pids) for agent, pids in found.items()}

    async def census(self, team: str, groups: Sequence[Cgroup]) -> list[Check]:
        """What is left: the checks of the level below, with processes that only their cgroup gives away; cgroups."""
        checks = await self._sweep.census(team)
        left, cgroups = await asyncio.to_thread(_look, groups)
        # Whoever has a port that was the team's is not counted as a process by that.
        known = {residue.pid for check in checks for residue in check.residue if residue.kind == "process"}
        unmarked = [_residue(process, "still runs") for process in left if process.pid not in known]
        return [*(_with(check, unmarked) if check.what == "processes" else check for check in checks), cgroups]


class _Rest:
    """What is left of a grace period, and never nothing of one that there was."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._deadline = asyncio.get_running_loop().time() + grace

    def left(self) -> float:
        return max(self._deadline - asyncio.get_running_loop().time(), self._grace * _SWEEP_SHARE)


def _look(groups: Sequence[Cgroup]) -> tuple[list[Process], Check]:
    residue = [
        Residue(kind="cgroup", name=group.path, why="has processes" if group.populated() else "empty, not removed")
        for top in groups
        for group in top.tree()
        if group.exists()
    ]
    left = [process for _, process in ending.members(groups)]
    return left, Check(what="cgroups", found=len(residue), residue=residue)


def _together(outcome: Ending, swept: Ended, gone: list[str]) -> Ended:
    """What both levels did. A process that neither could end is named once, and by the level that knows more of it."""
    own = [_residue(process, "did not end, not even when killed") for process in outcome.left if proc.read(process.pid)]
    named = {residue.pid for residue in own}
    others = [residue for residue in swept.residue if residue.pid not in named]
    return msgspec.structs.replace(swept, gone=gone, killed=outcome.killed + swept.killed, residue=[*own, *others])


def _residue(process: Process, why: str) -> Residue:
    if process.state == "D":
        why += " (it waits for the kernel, state D)"
    why += f", in cgroup {unified_name_of(process.pid)}"
    return Residue(kind="process", name=process.name, pid=process.pid, command=proc.command_line(process.pid), why=why)


def _with(check: Check, more: Sequence[Residue]) -> Check:
    residue = [*check.residue, *more]
    return Check(what=check.what, found=len(residue), residue=residue)
