"""The verbs of the merge queue, done on this host. See `ports.merging.Merging`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.ports.merging import Build, GateOrder, GateSeen, Landing, Piece, Submission

if TYPE_CHECKING:
    from corral.keeper.team import TeamKeeper
    from corral.keeper.tools import HostTools


class MergeVerbs:
    """Git work goes to the adapter, and gates to the team that they are of."""

    def __init__(self, tools: HostTools, team: Callable[[str], TeamKeeper]) -> None:
        self._git = tools.merges
        self._of = team

    async def merge_look(self, *, repo: str, directory: str, branch: str, target: str | None) -> Submission:
        return await self._git.look(repo=repo, directory=directory, branch=branch, target=target)

    async def merge_build(self, *, repo: str, target: str, pieces: list[Piece]) -> Build:
        return await self._git.build(repo=repo, target=target, pieces=pieces)

    async def merge_checkout(self, *, team: str, repo: str, commit: str) -> str:
        return await self._git.checkout(team=team, repo=repo, commit=commit)

    async def merge_clear(self, *, team: str, repo: str) -> list[str]:
        left = await self._of(team).gates.end()
        return [*left, *await self._git.clear(team=team, repo=repo)]

    async def merge_land(self, *, repo: str, target: str, old: str, new: str) -> Landing:
        return await self._git.land(repo=repo, target=target, old=old, new=new)

    async def start_gate(self, team: str, order: GateOrder) -> None:
        await self._of(team).gates.start(order)

    async def wait_gate(self, team: str, gate: str, *, wait: float, limit: int) -> GateSeen:
        return await self._of(team).gates.wait(gate, wait=wait, limit=limit)
