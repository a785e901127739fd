"""Running the gates of a merge queue: on the merged tree, one by one, until one fails or somebody says stop."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from corral.domain.merge_records import GateRun
from corral.domain.merge_rules import MergeRules
from corral.domain.records import Team
from corral.domain.spec_fingerprint import declared_variables
from corral.failpoint import point
from corral.ports.merging import GATE_PREFIX, GateOrder, GateSeen
from corral.service.context import Context

log = logging.getLogger("corral.daemon")

#: Of what a gate wrote: bytes that are kept if it failed, and if it did not.
_KEPT, _KEPT_OF_PASSED = 24 << 10, 2 << 10
#: The keeper is asked again after so many seconds, whether or not the gate has ended.
_PORTION = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of running gates."""

    runs: tuple[GateRun, ...] = ()
    #: Somebody said stop: nothing follows from it.
    stopped: bool = False
    #: What of them would not go, in words. The next test is made elsewhere.
    left: tuple[str, ...] = ()

    @property
    def failure(self) -> GateRun | None:
        return next((run for run in self.runs if not run.passed), None)


class MergeGates:
    """Runs gates. What they leave is ended and removed, whatever came of them."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor

    async def run(
        self,
        team: Team,
        rules: MergeRules,
        commit: str,
        name: str,
        stop: asyncio.Event,
        tell: Callable[[str], Awaitable[None]],
    ) -> Tested:
        """Run all gates of the team's rules on a commit; `name` tells these runs from every other."""
        try:
            tested = await self._run(team, rules, commit, name, stop, tell)
        finally:
            # How the gates ended counts, whatever they left.
            left = await self.clear(team)
        point("daemon.merge_tested")
        return replace(tested, left=tuple(left))

    async def _run(
        self,
        team: Team,
        rules: MergeRules,
        commit: str,
        name: str,
        stop: asyncio.Event,
        tell: Callable[[str], Awaitable[None]],
    ) -> Tested:
        repo = team.repo or ""
        runs: list[GateRun] = []
        await tell("its merged tree is checked out")
        path = await self._supervisor.insist_at(
            team.name, lambda keeper: keeper.merge_checkout(team=team.name, repo=repo, commit=commit)
        )
        point("daemon.merge_checked_out")
        for number, command in enumerate(rules.gates, 1):
            if stop.is_set():
                return Tested(runs=tuple(runs), stopped=True)
            await tell(f"gate {number} of {len(rules.gates)}: {command[:100]}")
            order = self._order(team, command, path, f"{GATE_PREFIX}{name}-{number}", commit)
            run = await self._gate(team.name, order, rules.timeout, stop)
            if run is None:
                return Tested(runs=tuple(runs), stopped=True)
            runs.append(run)
            if not run.passed:
                break
        return Tested(runs=tuple(runs))

    async def clear(self, team: Team) -> list[str]:
        """End every gate of the team, and remove what they ran in; what would not go, in words."""
        repo = team.repo or ""
        left = await self._supervisor.insist_at(team.name, lambda keeper: keeper.merge_clear(team=team.name, repo=repo))
        for one in left:
            log.warning("something of a gate of %s would not go: %s", team.name, one)
        return left

    def _order(self, team: Team, command: str, path: str, gate: str, commit: str) -> GateOrder:
        agents = self._registry.of_team(team.name).values()
        return GateOrder(
            gate=gate,
            command=command,
            directory=path,
            like={agent.name: declared_variables(agent.fingerprint) for agent in agents},
            environment={"CORRAL_MERGE_COMMIT": commit, "CORRAL_MERGE_TARGET": team.merge.target},
            systemd=team.systemd,
            team_limits=team.limits,
        )

    async def _gate(self, team: str, order: GateOrder, patience: float, stop: asyncio.Event) -> GateRun | None:
        """How it ended; None if somebody said stop before that."""
        clock = asyncio.get_running_loop().time
        began = clock()
        await self._supervisor.insist_at(team, lambda keeper: keeper.start_gate(team, order))
        point("daemon.merge_gate_started")
        while True:
            remaining = patience - (clock() - began)
            seen = await self._seen(team, order.gate, max(0.0, min(remaining, _PORTION)), stop)
            if seen is None:
                return None
            seconds = round(clock() - began, 3)
            if not seen.running:
                return _run(order.command, seen, seconds)
            if remaining <= 0:
                run = _run(order.command, seen, seconds)
                return replace(run, code=None, timed_out=True)

    async def _seen(self, team: str, gate: str, wait: float, stop: asyncio.Event) -> GateSeen | None:
        asked = asyncio.ensure_future(
            self._supervisor.insist_at(team, lambda keeper: keeper.wait_gate(team, gate, wait=wait, limit=_KEPT))
        )
        stopped = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({asked, stopped}, return_when=asyncio.FIRST_COMPLETED)
            return await asked if asked.done() else None
        finally:
            for waiting in (asked, stopped):
                waiting.cancel()


def _run(command: str, seen: GateSeen, seconds: float) -> GateRun:
    limit = _KEPT_OF_PASSED if seen.code == 0 else _KEPT
    output = seen.output[-limit:]
    return GateRun(
        command=command,
        code=seen.code,
        seconds=seconds,
        output=output.decode("utf-8", "replace"),
        omitted=seen.omitted + len(seen.output) - len(output),
        left=seen.left,
    )


def described(run: GateRun) -> str:
    """What became of a gate, in words."""
    if run.timed_out:
        return f"{run.command!r} had not ended after {math.floor(run.seconds)} s, and was ended"
    if run.code is None:
        return f"{run.command!r} ended, and nobody saw how"
    return f"{run.command!r} ended with exit code {run.code}"
