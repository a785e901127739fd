"""The calls that lend a repository, to a keeper at the other end of a stream."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.lending import BranchPut, Refs

#: Git may have to read a whole history, or wait for its turn.
_SECONDS = 900.0


class LendingCalls(Calls):
    """See `ports.lending.Lending`."""

    async def refs(self, directory: str) -> Refs:
        return await self._call(Refs, "refs", _SECONDS, directory=directory)

    async def make_copy(self, *, copy: str, of: str, object_format: str) -> None:
        await self._call(type(None), "make_copy", _SECONDS, copy=copy, of=of, object_format=object_format)

    async def follow(self, *, copy: str, team: str, there: Refs, pack: str) -> None:
        await self._call(type(None), "follow", _SECONDS, copy=copy, team=team, there=there, pack=pack)

    async def hand_in(self, *, repo: str, team: str, agent: str, tip: str, pack: str, by: str) -> BranchPut:
        return await self._call(
            BranchPut, "hand_in", _SECONDS, repo=repo, team=team, agent=agent, tip=tip, pack=pack, by=by
        )

    async def settle_branch(self, *, team: str, agent: str, repo: str, discard: bool) -> None:
        await self._call(type(None), "settle_branch", _SECONDS, team=team, agent=agent, repo=repo, discard=discard)

    async def watch_branches(self, *, team: str, directory: str) -> None:
        await self._call(type(None), "watch_branches", team=team, directory=directory)

    async def send_pack(self, *, directory: str, want: list[str], have: list[str]) -> str:
        return await self._call(str, "send_pack", _SECONDS, directory=directory, want=want, have=have)

    async def read_pack(self, pack: str) -> bytes:
        return await self._call(bytes, "read_pack", _SECONDS, pack=pack)

    async def receive_pack(self, *, directory: str, apart: bool) -> str:
        return await self._call(str, "receive_pack", _SECONDS, directory=directory, apart=apart)

    async def write_pack(self, pack: str, data: bytes) -> None:
        await self._call(type(None), "write_pack", _SECONDS, pack=pack, data=data)

    async def drop_pack(self, pack: str) -> None:
        await self._call(type(None), "drop_pack", pack=pack)
