"""The verbs about questions on screens, done on this host. See `ports.dialogs.Dialogs`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.ports.dialogs import Announced, Peer, Pressed, ScreenSeen
from corral.ports.merging import GateOrder, GateSeen

if TYPE_CHECKING:
    from corral.keeper.team import TeamKeeper
    from corral.keeper.tools import HostTools

_NOBODY_KNOWS = "by a process that has ended, or that cannot be seen from here: nobody can tell whose it is"


class DialogVerbs:
    """Each goes to the team that it is of."""

    _tools: HostTools
    _teams: dict[str, TeamKeeper]
    _team: Callable[[str], TeamKeeper]

    async def look_at_dialog(self, team: str, run: str) -> ScreenSeen:
        return await self._team(team).dialogs.look(run)

    async def press(self, team: str, run: str, keys: list[str], mark: str, words: str = "") -> Pressed:
        return await self._team(team).dialogs.press(run, keys, mark, words)

    async def no_person(self, peer: Peer) -> str:
        behind = await asyncio.to_thread(self._tools.behind, peer.pid, peer.seen)
        if behind is None:
            return _NOBODY_KNOWS
        for team in list(self._teams):
            for agent, pids in (await self._tools.containment.members(team)).items():
                if not behind.pids.isdisjoint(pids):
                    return f"from within {team}/{agent}"
        if behind.ours:
            return f"from within something that Corral itself started ({behind.ours})"
        # It was looked at by its pid, which is its own only as long as it runs.
        still = await asyncio.to_thread(self._tools.behind, peer.pid, peer.seen)
        return _NOBODY_KNOWS if still is None else ""

    async def announce(self, team: str, title: str, text: str, *, bell: bool, desktop: bool) -> Announced:
        rung = await self._team(team).dialogs.ring(f"{title}: {text}") if bell else 0
        problem = await self._tools.desktop(title, text) if desktop else "it was not asked for"
        return Announced(terminals=rung, desktop=not problem, problems=[problem] if desktop and problem else [])

    async def run_notice(self, team: str, order: GateOrder, within: float) -> GateSeen:
        return await self._team(team).notices.run(order, within)
