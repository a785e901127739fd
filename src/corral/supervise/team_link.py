"""The link to keepers of a team whose agents are run by several OS users: to all of them, or to some."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from corral.domain.errors import UnavailableError
from corral.ports.keeper import Hello, Keeper
from corral.supervise.link import KeeperLink
from corral.supervise.several import Members, SeveralKeepers

#: One may go while the next is opened.
_ATTEMPTS = 3


class TeamLink:
    """See `Link`. `links` are those that are meant, by user; `owner` is the team's own."""

    def __init__(self, owner: str, links: Callable[[], Mapping[str, KeeperLink]], members: Members) -> None:
        self._owner = owner
        self._links = links
        self._members = members
        #: What was given out, and for which keepers: the same is given again as long as they are.
        self._keepers: dict[str, Keeper] = {}
        self._several: Keeper | None = None

    @property
    def presence(self) -> str:
        return "present" if self.connected is not None else "absent"

    async def open(self) -> Keeper:
        for _ in range(_ATTEMPTS):
            for link in self._links().values():
                await link.open()
            if (several := self.connected) is not None:
                return several
        raise UnavailableError("the keepers of this team go as soon as they have come", "their logs may tell why")

    @property
    def hello(self) -> Hello:
        return self._links()[self._owner].hello

    @property
    def connected(self) -> Keeper | None:
        keepers = {user: link.connected for user, link in self._links().items()}
        known = {user: keeper for user, keeper in keepers.items() if keeper is not None}
        if len(known) != len(keepers):
            return None
        if self._several is None or known != self._keepers:
            self._keepers = known
            self._several = SeveralKeepers(self._owner, known, self._members).as_keeper()
        return self._several
