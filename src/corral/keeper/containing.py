"""Putting the runs of a team where everything that they start stays with them, before they start anything."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from corral.domain.errors import CorralError
from corral.domain.limits import NO_LIMITS, Limits
from corral.failpoint import point
from corral.keeper.runtimes import Runtimes
from corral.ports.containment import PROCESS, SYSTEMD, TMUX, Admission, Containment, Placement
from corral.ports.recording import Launches
from corral.ports.runs import Launch, TeamOrder
from corral.ports.runtime import Session

log = logging.getLogger("corral.keeper")


class _Note(msgspec.Struct, frozen=True):
    """What the next keeper needs to know of a run that waits at its gate."""

    order: TeamOrder = TeamOrder()
    limits: Limits = NO_LIMITS


@dataclass(frozen=True, slots=True)
class Level:
    """How a run is contained, and why no better."""

    name: str
    why: str = ""
    #: The cgroup of its agent, as `/proc/PID/cgroup` has it; empty if it has none.
    cgroup: str = ""


class Containing:
    """The containment of one team's runs."""

    def __init__(
        self,
        containment: Containment,
        team: str,
        launches: Launches,
        runtime: Runtimes,
        degraded: Callable[[str, str], None],
    ) -> None:
        self._containment = containment
        self._team = team
        self._launches = launches
        self._runtime = runtime
        self._degraded = degraded
        self.levels: dict[str, Level] = {}  # by run

    def gated(self, order: TeamOrder) -> bool:
        """Whether runs have to wait until they are contained. Raises if the team asks for more than there is."""
        if order.systemd == "require" and self._containment.level != SYSTEMD:
            raise CorralError(
                f"team {self._team} requires systemd, and it cannot be used: {self._containment.why}",
                'corral doctor tells what is missing; [containment] systemd = "auto" takes the next best',
            )
        return not order.left_alone and self._containment.level != PROCESS

    @staticmethod
    def note(launch: Launch, order: TeamOrder) -> str:
        """For `Launches.write`."""
        return msgspec.json.encode(_Note(order=order, limits=launch.limits)).decode()

    async def shelter_server(self, order: TeamOrder) -> None:
        """Give the tmux server its own place, before any agent is started by it. A unit also if panes are left alone.

        A cgroup that is no unit is worth it only for what is contained beside it: to move a process takes the kernel
        longer than to start one.
        """
        pid = self._runtime.tmux_pid
        if pid is None or self._containment.level == PROCESS:
            return
        if order.left_alone and self._containment.level != SYSTEMD:
            return
        try:
            await self._containment.shelter(self._team, pid, TMUX)
        except CorralError as error:
            self._degraded("", f"its tmux server has no unit of its own: {error.message}")

    async def admit(
        self, sessions: Sequence[Session], limits: dict[str, Limits], order: TeamOrder
    ) -> tuple[dict[str, str], list[str]]:
        """Contain these sessions and let them go on.

        Returns the runs that must not, and why (run → problem), and what a person should know besides.
        """
        living = [session for session in sessions if not session.dead]
        admission = await self._admitted(living, limits, order)
        refused: dict[str, str] = {}
        for session in living:
            problem = admission.problems.get(session.run, "")
            level = admission.levels.get(session.run, PROCESS)
            if problem and order.systemd == "require":
                refused[session.run] = problem
                continue
            why = problem or self._why(level, order)
            self.levels[session.run] = Level(level, why, admission.cgroups.get(session.run, ""))
            if problem:
                self._degraded(session.agent, problem)
            point("keeper.admitted")
            self._launches.open_gate(session.agent, session.run)
        for note in admission.notes:
            self._degraded("", note)
        return refused, admission.notes

    def passed(self, sessions: Sequence[Session]) -> None:
        """Take away the gates of those that have started their program."""
        for session in sessions:
            if session.dead or session.pid != session.terminal_pid:
                self._launches.gate_passed(session.agent, session.run)

    async def go_on_with(self, sessions: Sequence[Session]) -> dict[str, str]:
        """Let those go on that an earlier keeper left at their gates. Returns the runs that must not (run → agent)."""
        stay: dict[str, str] = {}
        for session in sessions:
            if session.dead or not self._launches.is_gated(session.agent, session.run):
                continue
            if session.pid == session.terminal_pid:
                log.info("%s/%s still waits at its gate", self._team, session.agent)
                note = self._note_of(session)
                refused, _ = await self.admit([session], {session.run: note.limits}, note.order)
                for why in refused.values():
                    self._degraded(session.agent, f"it is not let start: {why}")
                    stay[session.run] = session.agent
                await self._runtime.find_programs([session] if not refused else [])
            self.passed([session])
        return stay

    def _note_of(self, session: Session) -> _Note:
        try:
            return msgspec.json.decode(self._launches.note_of(session.agent, session.run), type=_Note)
        except msgspec.DecodeError:
            # Somebody took the launch file away. What it wanted nobody knows; what is usual it gets.
            self._degraded(session.agent, "what it was to be limited to is not known any more")
            return _Note()

    async def _admitted(self, sessions: Sequence[Session], limits: dict[str, Limits], order: TeamOrder) -> Admission:
        placements = [
            Placement(
                agent=session.agent,
                run=session.run,
                pid=session.terminal_pid,
                limits=limits.get(session.run, NO_LIMITS),
            )
            for session in sessions
        ]
        if order.left_alone:
            limited = [placement.agent for placement in placements if placement.limits]
            limited += ["the team"] if order.limits else []
            notes = [f"{whose}: limits are not enforced, because systemd is off" for whose in limited]
            return Admission(levels=dict.fromkeys((one.run for one in placements), PROCESS), notes=notes)
        try:
            return await self._containment.admit(self._team, placements, order.limits)
        except CorralError as error:
            return Admission(problems=dict.fromkeys((one.run for one in placements), error.message))

    def _why(self, level: str, order: TeamOrder) -> str:
        if order.left_alone:
            return "[containment] systemd is off"
        return self._containment.why if level == self._containment.level else ""
