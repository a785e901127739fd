"""The verbs that lend a repository, done on this host. See `ports.lending.Lending`."""

from __future__ import annotations

from collections.abc import Callable

from corral.ports.lending import BranchPut, LendingGit, Refs
from corral.ports.reports import BranchesMoved, Report


class LendingVerbs:
    """All of it is git work, and goes to the adapter."""

    _lending: LendingGit
    _tell: Callable[[Report], None]

    async def refs(self, directory: str) -> Refs:
        return await self._lending.refs(directory)

    async def make_copy(self, *, copy: str, of: str, object_format: str) -> None:
        await self._lending.make_copy(copy, of, object_format)

    async def follow(self, *, copy: str, team: str, there: Refs, pack: str) -> None:
        await self._lending.follow(copy, team, there, pack)

    async def hand_in(self, *, repo: str, team: str, agent: str, tip: str, pack: str, by: str) -> BranchPut:
        return await self._lending.hand_in(repo, team, agent, tip, pack, by)

    async def settle_branch(self, *, team: str, agent: str, repo: str, discard: bool) -> None:
        await self._lending.settle_branch(repo, team, agent, discard=discard)

    async def watch_branches(self, *, team: str, directory: str) -> None:
        await self._lending.watch(team, directory, lambda: self._tell(BranchesMoved(team=team)))

    async def send_pack(self, *, directory: str, want: list[str], have: list[str]) -> str:
        return await self._lending.send_pack(directory, want, have)

    async def read_pack(self, pack: str) -> bytes:
        return await self._lending.read_pack(pack)

    async def receive_pack(self, *, directory: str, apart: bool) -> str:
        return await self._lending.receive_pack(directory, apart=apart)

    async def write_pack(self, pack: str, data: bytes) -> None:
        await self._lending.write_pack(pack, data)

    async def drop_pack(self, pack: str) -> None:
        await self._lending.drop_pack(pack)
