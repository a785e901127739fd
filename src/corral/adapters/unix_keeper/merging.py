"""The calls of the merge queue to a keeper at the other end of a stream."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.merging import Build, GateOrder, GateSeen, Landing, Piece, Submission

#: Git may have to read a whole history, check a large tree out, or wait for its turn.
_SECONDS = 900.0
#: What somebody waits for who submits a branch.
_LOOK_SECONDS = 60.0
_GATE_SECONDS = 30.0


class MergeCalls(Calls):
    """See `ports.merging.Merging`."""

    async def merge_look(self, *, repo: str, directory: str, branch: str, target: str | None) -> Submission:
        return await self._call(
            Submission, "merge_look", _LOOK_SECONDS, repo=repo, directory=directory, branch=branch, target=target
        )

    async def merge_build(self, *, repo: str, target: str, pieces: list[Piece]) -> Build:
        return await self._call(Build, "merge_build", _SECONDS, repo=repo, target=target, pieces=pieces)

    async def merge_checkout(self, *, team: str, repo: str, commit: str) -> str:
        return await self._call(str, "merge_checkout", _SECONDS, team=team, repo=repo, commit=commit)

    async def merge_clear(self, *, team: str, repo: str) -> list[str]:
        return await self._call(list[str], "merge_clear", _SECONDS, team=team, repo=repo)

    async def merge_land(self, *, repo: str, target: str, old: str, new: str) -> Landing:
        return await self._call(Landing, "merge_land", _SECONDS, repo=repo, target=target, old=old, new=new)

    async def start_gate(self, team: str, order: GateOrder) -> None:
        await self._call(type(None), "start_gate", _GATE_SECONDS, team=team, order=order)

    async def wait_gate(self, team: str, gate: str, *, wait: float, limit: int) -> GateSeen:
        return await self._call(
            GateSeen, "wait_gate", wait + _GATE_SECONDS, team=team, gate=gate, wait=wait, limit=limit
        )
