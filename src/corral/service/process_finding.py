"""Which processes there are, and whose, as the keepers of their teams tell.

On a shared server a keeper is somebody's own process. It is believed about its own agents, as far as what it says can
be; and no agent's process becomes another's by what it says.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain.errors import NotFoundError, UnavailableError
from corral.ports.processes import Process
from corral.service.lists import Asked, ask_each
from corral.service.process_owners import Owner, ProcessOwners
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor

#: More processes than these nobody lists at once on a shared server: everybody waits while they are looked at.
MOST_LISTED = 10_000
#: No moment that is told is later, in unix seconds: it could not be written as a date.
_LATEST = 1e11


class ProcessFinding:
    """Asks keepers for processes, and remembers whose they are."""

    def __init__(self, registry: Registry, supervisor: Supervisor) -> None:
        self._registry = registry
        self._supervisor = supervisor
        self._owners = ProcessOwners(lambda owner: owner in registry.agents)

    def owner(self, process: str) -> Owner | None:
        """Whose it is, as far as is remembered."""
        return self._owners.get(process)

    async def owner_before(self, process: str) -> Owner | None:
        """Whose it is already, for somebody who would start one of that id."""
        return self._owners.get(process)

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
        if self._supervisor.keepers.shared:
            found = self._believed(team, found)
        for process in found:
            self._owners.remember(process.process, (team, process.agent))
        return found

    def _believed(self, team: str, found: Sequence[Process]) -> Sequence[Process]:
        users = " and ".join(self._supervisor.keepers.users(team))
        if len(found) > MOST_LISTED:
            raise UnavailableError(
                f"the keeper of {users} tells of {len(found)} processes of {team}, and no more than {MOST_LISTED} are "
                "listed",
                "corral proc ls AGENT lists those of one agent; corral proc rm forgets those that have ended",
            )
        if not all(map(_can_be, found)):
            raise UnavailableError(
                f"the keeper of {users} tells of processes of {team} that cannot be: of a time there is not",
                "is it another program? systemctl --user status corral-keeper.service, by that user, may tell",
            )
        members = self._registry.of_team(team)
        return [process for process in found if process.agent in members]


def _can_be(process: Process) -> bool:
    times = (process.started_at, process.ended_at or 0.0)
    # Of what is no number every comparison is false.
    return all(0.0 <= time < _LATEST for time in times)


def no_process(process: str) -> NotFoundError:
    """What is said of a process that there is not."""
    return NotFoundError(f"there is no process {process[:100]}", "corral proc ls shows those there are")
