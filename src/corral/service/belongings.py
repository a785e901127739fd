"""What belongs to the sessions of agents and goes with them: leases, locks and claims on tasks.

What was written to somebody, and what is to be done, belongs to nobody's session. Messages and tasks stay.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from corral.domain.lease_model import Lease
from corral.domain.records import Team, Who
from corral.domain.task_records import CLOSED
from corral.ports.census import Check, Residue
from corral.service.lease_claims import locks_of
from corral.service.leases import LeaseService
from corral.service.msg import Msg
from corral.service.tasks import Tasks

_NOT_WRITTEN = "that it is given back could not be written down"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBack:
    """What agents had, and what of a team stays."""

    leases: int = 0
    locks: int = 0
    claims: int = 0
    #: Messages to agents that they have not acked, and tasks that are neither done nor dead.
    messages: int = 0
    tasks: int = 0
    checks: tuple[Check, ...] = ()


class Belongings:
    """Takes them away."""

    def __init__(self, leases: LeaseService, tasks: Tasks, msg: Msg) -> None:
        self._leases = leases
        self._tasks = tasks
        self._msg = msg

    async def give_back(self, who: Who, team: Team, agents: Collection[str]) -> GivenBack:
        """Give back all that these agents have. What the store did not take is in the checks, and is still theirs."""
        parties = {f"{team.name}/{agent}" for agent in agents}
        held = self._held(parties)
        locks = sum(lease.claim.realm == locks_of(team) for lease in held)
        claims = self._tasks.claimed_by(team, parties)
        await self._leases.release_all(who, held)
        await self._tasks.release_all(who, team, claims)
        left = self._held(parties)
        kept = self._tasks.claimed_by(team, parties)
        return GivenBack(
            leases=len(held) - locks,
            locks=locks,
            claims=len(claims),
            messages=sum(self._msg.unacked(party) for party in parties),
            tasks=sum(seen.state not in CLOSED for seen in self._tasks.list(team)),
            checks=(
                _check("leases", "lease", [f"{lease.lease} of {lease.claim.party.name}" for lease in left]),
                _check("claims", "claim", [f"{task.id} of {task.claim.by}" for task in kept if task.claim is not None]),
            ),
        )

    def _held(self, parties: Collection[str]) -> list[Lease]:
        return [lease for party in sorted(parties) for lease in self._leases.of_party(party)]


def _check(what: str, kind: str, left: Collection[str]) -> Check:
    return Check(what=what, found=len(left), residue=[Residue(kind=kind, name=name, why=_NOT_WRITTEN) for name in left])
