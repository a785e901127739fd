"""Which processes there are, and whose, as the keepers of their teams tell.

On a shared server a keeper is somebody's own process. It is believed about its own agents, as far as what it says can
be; and no agent's process becomes another's by what it says.

Whose an id is, is not kept over a restart of the daemon. So before somebody's own choice of an id is accepted, the
keepers of all teams that were up then are looked at once; for one that does not answer nobody waits long. If the first
look at such a team finds an id that has become another agent's, it is nobody's without the name of an agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from corral.domain.errors import NotFoundError, UnavailableError
from corral.domain.timestamps import can_be
from corral.ports.processes import Process
from corral.service.lists import Asked, ask_each
from corral.service.process_owners import Owner, ProcessOwners
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor

#: More processes than these nobody lists at once on a shared server: everybody waits while they are looked at.
MOST_LISTED = 10_000


class ProcessFinding:
    """Asks keepers for processes, and remembers whose they are."""

    def __init__(self, registry: Registry, supervisor: Supervisor) -> None:
        self._registry = registry
        self._supervisor = supervisor
        self._owners = ProcessOwners(lambda owner: owner in registry.agents)
        #: The agents that were there when the daemon started, and whose processes have not been looked at since. None:
        #: it has not been asked for any yet.
        self._unseen: set[Owner] | None = None
        self._first_look: asyncio.Task[Asked[Sequence[Process]]] | None = None

    def owner(self, process: str) -> Owner | None:
        """Whose it is, as far as is remembered."""
        return self._owners.get(process)

    async def look_for(self, process: str) -> bool:
        """Find out whose an id of somebody's choice is, as far as keepers tell. True if that had to be waited for."""
        if not self._supervisor.keepers.shared or self._owners.get(process) is not None:
            return False
        if self._first_look is None:
            # Once, by whoever comes first: all wait for that, and nobody for a keeper that is silent then.
            look = self.of_each(sorted({team for team, _ in self._not_seen}), "", named=False)
            self._first_look = asyncio.ensure_future(look)
        has_to_wait = not self._first_look.done()
        await asyncio.shield(self._first_look)
        return has_to_wait

    def owner_before(self, process: str) -> Owner | None:
        """Whose it is already, for somebody who would start one of that id, after `look_for`.

        `NotFoundError` if that is two agents: as of any id that is another's.
        """
        if self._owners.is_contested(process):
            raise no_process(process)
        return self._owners.get(process)

    @property
    def _not_seen(self) -> set[Owner]:
        if self._unseen is None:
            self._unseen = set(self._registry.agents)
        return self._unseen

    def is_contested(self, process: str) -> bool:
        """Whether two agents have it."""
        return self._owners.is_contested(process)

    def rivals(self, process: str) -> list[Owner]:
        """Those agents."""
        return self._owners.rivals(process)

    def remember(self, process: str, owner: Owner) -> None:
        """It is that agent's, unless it is another's."""
        self._owners.remember(process, owner)

    def forget(self, process: str, owner: Owner) -> None:
        """It is not that agent's any more."""
        self._owners.forget(process, owner)

    async def of_each(self, teams: Sequence[str], agent: str, *, named: bool) -> Asked[Sequence[Process]]:
        """The processes of these teams, or of an agent in the only one of them. `named`: see `ask_each`."""
        return await ask_each(self._supervisor.keepers, teams, lambda team: self._of(team, agent), named=named)

    async def _of(self, team: str, agent: str) -> Sequence[Process]:
        found: Sequence[Process] = await self._supervisor.insist(team, lambda keeper: keeper.processes(team, agent))
        if not self._supervisor.keepers.shared:
            for process in found:
                self._owners.remember(process.process, (team, process.agent))
            return found
        found = self._believed(team, found)
        for process in found:
            owner = team, process.agent
            # Said once, of ids from before: or a keeper could take away what is started later, again and again.
            if owner in self._not_seen and self._is_anothers(process.process, owner):
                self._owners.contest(process.process, owner)
            self._owners.remember(process.process, owner)
        self._not_seen.difference_update([one for one in self._not_seen if one[0] == team and agent in ("", one[1])])
        return found

    def _is_anothers(self, process: str, owner: Owner) -> bool:
        return self._owners.is_contested(process) or self._owners.get(process) not in (None, owner)

    def _believed(self, team: str, found: Sequence[Process]) -> Sequence[Process]:
        users = " and ".join(self._supervisor.keepers.users(team))
        if len(found) > MOST_LISTED:
            raise UnavailableError(
                f"the keeper of {users} tells of {len(found)} processes of {team}, and no more than {MOST_LISTED} are "
                "listed",
                "corral proc ls AGENT lists those of one agent; corral proc rm forgets those that have ended",
            )
        if not all(can_be(time) for one in found for time in (one.started_at, one.ended_at or 0.0)):
            raise UnavailableError(
                f"the keeper of {users} tells of processes of {team} that cannot be: of a time there is not",
                "is it another program? systemctl --user status corral-keeper.service, by that user, may tell",
            )
        members = self._registry.of_team(team)
        return [process for process in found if process.agent in members]


def no_process(process: str) -> NotFoundError:
    """What is said of a process that there is not."""
    return NotFoundError(f"there is no process {process[:100]}", "corral proc ls shows those there are")
