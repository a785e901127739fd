"""The git work of lending a repository, on one host. See `ports.lending`."""

from __future__ import annotations

import os
from collections.abc import Callable

from corral.adapters.files.watches import FileWatches
from corral.adapters.git import copies, refs
from corral.adapters.git.handing_in import HandedIn
from corral.adapters.git.packs import Packs
from corral.adapters.git.ref_watch import RefWatch
from corral.adapters.git.worktrees import common_dir
from corral.domain.errors import CorralError
from corral.places import Places
from corral.ports.lending import BranchPut, Refs


class GitLending:
    """See `ports.lending.Lending` for each."""

    def __init__(self, places: Places) -> None:
        self._packs = Packs(places.incoming)
        self._handed_in = HandedIn(places.handed_in)
        self._files = FileWatches()
        self._watches: dict[str, tuple[str, RefWatch]] = {}
        self.send_pack, self.read_pack = self._packs.send, self._packs.read
        self.receive_pack, self.write_pack, self.drop_pack = self._packs.receive, self._packs.write, self._packs.drop
        self.refs, self.make_copy, self.settle_branch = refs.refs_of, copies.make, self._handed_in.settle

    def begin(self) -> None:
        """There is no other keeper of this user: what one that was killed has left on the way is removed."""
        self._packs.clear()

    def end(self) -> None:
        """Leave nothing that is under way."""
        self._packs.end()

    async def follow(self, copy: str, team: str, there: Refs, pack: str) -> None:
        if pack:
            await self._packs.received(pack)
            await self._packs.drop(pack)
        await copies.follow(copy, team, there)

    async def hand_in(self, repo: str, team: str, agent: str, tip: str, pack: str, by: str) -> BranchPut:
        apart = await self._packs.received(pack) if pack else ""
        try:
            return await self._handed_in.take(repo, team, agent, tip, apart, by)
        finally:
            await self._packs.drop(pack)

    async def watch(self, team: str, directory: str, moved: Callable[[], None]) -> None:
        """Have `moved` called whenever a branch moves there, in place of what was watched for the team before."""
        common = await common_dir(directory)
        known = self._watches.get(team)
        if known is not None and known[0] == common:
            return
        self.watch_no_more(team)
        try:
            self._watches[team] = common, RefWatch(self._files, common, moved)
        except OSError as error:
            raise CorralError(
                f"the branches in {common} cannot be watched: {os.strerror(error.errno or 0)}",
                "more inotify watches: sysctl fs.inotify.max_user_watches and fs.inotify.max_user_instances",
            ) from error

    def watch_no_more(self, team: str) -> None:
        """The team is taken down."""
        known = self._watches.pop(team, None)
        if known is not None:
            known[1].end()
