"""Containment by nothing but `/proc`: the marker in the environment, and descent from what carries it.

The third and last level. Orphans of agents are handed to the team's tmux server (`adapters/tmux/birth.py`), so
what cleared its environment *and* lost its parents is still known to be the team's, though not which agent's; unless
the server died before it. That is what cgroups are for. `ps` says that an agent runs at this level.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence, Set

from corral.adapters.procfs import ending, ports, sockets, unix_listeners
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs import usage as usage_files
from corral.adapters.procfs.processes import Process
from corral.domain.environment import (
    AGENT_VARIABLE,
    HOST_VARIABLE,
    PROCESS_VARIABLE,
    RUN_VARIABLE,
    team_markers,
)
from corral.domain.limits import Limits, limits_as_json
from corral.places import Places
from corral.ports.census import Check, Residue
from corral.ports.containment import PROCESS, Admission, Placement
from corral.ports.runs import Ended
from corral.ports.usage import Usage

_RUN = RUN_VARIABLE.encode()
_AGENT = AGENT_VARIABLE.encode()
_PROCESS = PROCESS_VARIABLE.encode()
_HOST = HOST_VARIABLE.encode()
#: Looks for processes that were started, or woken, while others were being stopped; and the time between them.
_STOP_ROUNDS, _STOP_PAUSE = 25, 0.004
#: What tmux calls its clients, and how long they may take to hear that their server is gone.
_TMUX_CLIENT, _CLIENT_SECONDS = "tmux: client", 2.0


class ProcessContainment:
    """See `ports.containment.Containment`."""

    level = PROCESS

    def __init__(self, places: Places, instance: str, why: str = "") -> None:
        self._places = places
        self._instance = instance
        self.why = why
        #: What would not end, of teams that were told to: known by its descent then, and by nothing later.
        self._stuck: dict[str, list[Process]] = {}
        #: The ports of teams that were told to end.
        self._ports: dict[str, ports.Noted] = {}

    async def shelter(self, team: str, server_pid: int, what: str) -> None:
        """See `Containment.shelter`. There is no place to give: sessions of their own are all that sets them apart."""

    async def place_of(self, team: str, agent: str) -> str:  # noqa: ARG002 - as the port has it
        """See `Containment.place_of`. There are no places."""
        return ""

    async def shelter_daemon(self, pid: int) -> None:
        """See `Containment.shelter_daemon`. It has a session of its own already."""

    async def admit(
        self,
        team: str,  # noqa: ARG002 - as the port has it
        placements: Sequence[Placement],
        team_limits: Limits,
    ) -> Admission:
        """See `Containment.admit`. Nothing is enforced here, and that is said."""
        limits = {placement.agent: placement.limits for placement in placements}
        return Admission(
            levels={placement.run: self.level for placement in placements}, notes=_not_enforced(limits, team_limits)
        )

    async def limit(
        self,
        team: str,  # noqa: ARG002 - as the port has it
        limits: Mapping[str, Limits],
        team_limits: Limits,
    ) -> list[str]:
        """See `Containment.limit`."""
        return _not_enforced(limits, team_limits)

    async def freeze(self, team: str, runs: Mapping[str, str], *, frozen: bool) -> None:
        """See `Containment.freeze`. By SIGSTOP, to a fixpoint: what is stopped starts nothing more."""
        await self.freeze_except(team, runs, frozenset(), frozen=frozen)

    async def freeze_except(self, team: str, runs: Mapping[str, str], held: Set[int], *, frozen: bool) -> None:
        """As `freeze`, and leave these pids alone: something better holds them."""
        await asyncio.to_thread(self._freeze, team, _Of(runs, spare=False), held, frozen=frozen)

    def _freeze(self, team: str, meant: _Of, held: Set[int], *, frozen: bool) -> None:
        done: set[tuple[int, int]] = set()
        for attempt in range(_STOP_ROUNDS):
            if attempt:
                time.sleep(_STOP_PAUSE)
            new = [process for process in self._to_hold(team, meant) if process.pid not in held]
            if frozen:
                # Told so already or not: a tmux of the agent's wakes its panes, as long as it runs itself.
                new = [process for process in new if process.state not in proc.STANDING_STILL]
            else:
                new = [process for process in new if process.key not in done]
            if not new:
                return
            for process in new:
                done.add(process.key)
                proc.send_signal(process, signal.SIGSTOP if frozen else signal.SIGCONT)

    def _to_hold(self, team: str, meant: _Of) -> list[Process]:
        everyone = proc.every_process()
        roots = [process for process in self._of_team(everyone, team) if meant(process)]
        # The shell waits for the program, and tmux would wake a pane whose first process is stopped.
        return [one for one in proc.with_descendants(everyone, roots) if not self.is_launch_shell(one)]

    async def usage(self, team: str) -> list[Usage]:
        """See `Containment.usage`."""
        return await asyncio.to_thread(self._usage, team)

    def _usage(self, team: str) -> list[Usage]:
        everyone = proc.every_process()
        families = self._families(everyone, team)
        return usage_files.of_families(everyone, families, level=self.level, leave_out=self.is_launch_shell)

    async def members(self, team: str) -> dict[str, list[int]]:
        """See `Containment.members`."""
        return await asyncio.to_thread(self._members, team)

    def _members(self, team: str) -> dict[str, list[int]]:
        everyone = proc.every_process()
        return {
            agent: [process.pid for process in proc.with_descendants(everyone, family)]
            for agent, family in self._families(everyone, team).items()
        }

    def _families(self, everyone: list[Process], team: str) -> dict[str, list[Process]]:
        """Agent → the processes that carry its marker."""
        families: dict[str, list[Process]] = {}
        for process in self._of_team(everyone, team):
            agent = proc.marker_value(proc.environment(process.pid), _AGENT)
            if agent and not _is_server(process):
                families.setdefault(agent, []).append(process)
        return families

    async def forget_team(self, team: str) -> None:
        """See `Containment.forget_team`. There is nothing but processes at this level."""

    async def end_runs(
        self, team: str, runs: Mapping[str, str], roots: Sequence[int], grace: float, *, spare: bool
    ) -> Ended:
        """See `Containment.end_runs`."""
        meant, root_pids = _Of(runs, spare=spare), set(roots)

        def find(everyone: list[Process]) -> list[Process]:
            return [
                process
                for process in self._of_team(everyone, team)
                if process.pid in root_pids or (meant(process) and not _is_server(process))
            ]

        outcome = await ending.end(find, grace, self.is_launch_shell)
        self._stuck.setdefault(team, []).extend(outcome.left)
        stuck = {_run_of(process) for process in outcome.left}
        return _ended(outcome, gone=[run for run in runs if run not in stuck])

    async def end_team(self, team: str, grace: float) -> Ended:
        """See `Containment.end_team`."""
        await self.note_ports(team)
        return await self.end_rest(team, grace)

    async def note_ports(self, team: str, also: Iterable[int] = ()) -> None:
        """Remember on which ports the team listens now, for the census; `also` are pids that are known to be its."""
        await asyncio.to_thread(self._note_ports, team, also)

    def _note_ports(self, team: str, also: Iterable[int]) -> None:
        everyone = proc.every_process()
        ours = proc.with_descendants(everyone, self._of_team(everyone, team))
        self._ports.setdefault(team, ports.Noted()).note({*also, *(process.pid for process in ours)})

    async def end_rest(self, team: str, grace: float) -> Ended:
        """End the team as `end_team` does, after a better level had its turn and had the ports noted."""

        def find(everyone: list[Process]) -> list[Process]:
            marked = self._of_team(everyone, team)
            orphans = proc.with_descendants(everyone, [process for process in marked if _is_server(process)])
            return [process for process in {*marked, *orphans} if not _is_server(process)]

        outcome = await ending.end(find, grace, self.is_launch_shell)
        self._stuck.setdefault(team, []).extend(outcome.left)
        return _ended(outcome, gone=[])

    async def census(self, team: str) -> list[Check]:
        """See `Containment.census`."""
        checks, tmux = await asyncio.to_thread(self._census, team)
        # Each ends by itself a moment after its server: also one of a keeper that was killed, and that nobody ends.
        ends_soon = tmux and all(process.name == _TMUX_CLIENT for process in tmux)
        if ends_soon and await ending.wait_gone(tmux, _CLIENT_SECONDS):
            checks, _ = await asyncio.to_thread(self._census, team)
        return checks

    def _census(self, team: str) -> tuple[list[Check], list[Process]]:
        """What is left, and which of it is tmux."""
        ours = self._of_team(proc.every_process(), team)
        found = {process.key for process in ours}
        stuck = [
            process for process in self._stuck.get(team, ()) if process.key not in found and proc.is_alive(process)
        ]
        self._stuck[team] = stuck
        path = self._places.tmux_socket(team)
        try:
            listeners = unix_listeners.own_listeners(path)
        except OSError as error:
            holders: dict[int, list[int]] = {}
            why = f"the kernel does not list sockets: {error.strerror or error}"
            at_path = Check(what="sockets", found=None, residue=[Residue(kind="socket", name=path, why=why)])
        else:
            holders = sockets.holders(set(listeners))
            at_path = _check("sockets", [_listening(path, holders[inode]) for inode in listeners])
        servers = {process.pid: process for process in ours if _is_our_tmux(process)}
        for pids in holders.values():
            for pid in pids:
                process = proc.read(pid)
                if process is not None and _is_our_tmux(process):
                    servers.setdefault(pid, process)
        checks = [
            _check(
                "processes",
                [
                    *(_residue(process, "still runs") for process in ours if not _is_our_tmux(process)),
                    *(_residue(process, "could not be ended: is it somebody else's?") for process in stuck),
                ],
            ),
            _check("tmux_servers", [_residue(process, "still runs") for process in servers.values()]),
            at_path,
            _check("ports", self._ports_left(team)),
        ]
        return checks, list(servers.values())

    def _ports_left(self, team: str) -> list[Residue]:
        noted = self._ports.get(team)
        left = noted.left() if noted is not None else []
        if not left:
            self._ports.pop(team, None)
        return left

    def servers(self, team: str) -> list[Process]:
        """The tmux servers that are certainly the team's: they carry its markers, and were bound to its socket.

        The markers alone are no proof: a person, or an agent, can start a tmux with them. None if it cannot be told.
        """
        marked = [process for process in self._of_team(proc.named(b"tmux: server"), team) if _is_our_tmux(process)]
        try:
            listeners = unix_listeners.own_listeners(self._places.tmux_socket(team))
        except OSError:
            return []
        held = sockets.holders(set(listeners), [process.pid for process in marked])
        holding = {pid for pids in held.values() for pid in pids}
        return [process for process in marked if process.pid in holding]

    def is_launch_shell(self, process: Process) -> bool:
        """The shell between tmux and a program. Without it the program loses its terminal before its last words."""
        if process.pid != process.session:
            return False
        words = proc.argument_vector(process.pid)
        return len(words) == 2 and words[1].startswith(os.fsencode(self._places.launch_dir) + b"/")

    def _of_team(self, everyone: list[Process], team: str) -> list[Process]:
        return proc.marked(everyone, team_markers(self._instance, team))


def _not_enforced(limits: Mapping[str, Limits], team_limits: Limits) -> list[str]:
    """A line for everybody whose limits nothing enforces."""
    subjects = [*limits.items(), ("the team", team_limits)]
    return [
        f"{subject}: {', '.join(limits_as_json(wanted))} cannot be enforced without a cgroup"
        for subject, wanted in subjects
        if wanted
    ]


class _Of:
    """Tells what belongs to some runs (run → agent): with `spare`, to nothing but their programs."""

    def __init__(self, runs: Mapping[str, str], *, spare: bool) -> None:
        self._runs = runs
        self._agents = frozenset() if spare else frozenset(runs.values())

    def __call__(self, process: Process) -> bool:
        variables = proc.environment(process.pid)
        if proc.marker_value(variables, _RUN) in self._runs:
            return True
        is_process = proc.marker_value(variables, _PROCESS) is not None
        return is_process and proc.marker_value(variables, _AGENT) in self._agents


def _run_of(process: Process) -> str | None:
    return proc.marker_value(proc.environment(process.pid), _RUN)


def _is_server(process: Process) -> bool:
    """What holds the terminals or the processes of a team. It ends after them."""
    return _is_our_tmux(process) or proc.marker_value(proc.environment(process.pid), _HOST) is not None


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


def _listening(path: str, pids: Sequence[int]) -> Residue:
    return Residue(kind="socket", name=path, pid=next(iter(pids), None), why="somebody listens")


def _check(what: str, residue: list[Residue]) -> Check:
    return Check(what=what, found=len(residue), residue=residue)
