"""The git work of a merge queue. See `ports.merging.MergeGit`."""

from __future__ import annotations

from corral.adapters.git import merge_target, merging
from corral.adapters.git.merge_checkouts import MergeCheckouts
from corral.places import Places
from corral.ports.merging import Build, Landing, Piece, Submission


class GitMerges:
    """See `ports.merging.MergeGit`."""

    def __init__(self, places: Places) -> None:
        self._checkouts = MergeCheckouts(places)

    async def look(self, *, repo: str, directory: str, branch: str, target: str | None) -> Submission:
        return await merging.look(repo=repo, directory=directory, branch=branch, target=target)

    async def build(self, *, repo: str, target: str, pieces: list[Piece]) -> Build:
        return await merging.build(repo=repo, target=target, pieces=pieces)

    async def checkout(self, *, team: str, repo: str, commit: str) -> str:
        return await self._checkouts.make(team=team, repo=repo, commit=commit)

    async def clear(self, *, team: str, repo: str) -> list[str]:
        return await self._checkouts.clear(team=team, repo=repo)

    async def land(self, *, repo: str, target: str, old: str, new: str) -> Landing:
        return await merge_target.land(repo=repo, target=target, old=old, new=new)
