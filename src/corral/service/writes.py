"""May these files be written now? The question behind every hook; answered from memory, and never by a keeper."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain.errors import WrongUseError
from corral.domain.lease_model import Party
from corral.domain.writes import Fence, NoAccess, Refusal, Writer, Writes, refusals
from corral.service.lease_claims import Asking, realm_of
from corral.service.leases import LeaseService
from corral.supervise.confines import is_of_repository

#: So many paths may be asked about at once, and so many refusals are told.
MOST_PATHS, MOST_REFUSALS = 50_000, 1_000
#: After so many paths others get their turn.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Refused:
    """A path that must not be written, and the unix time at which what is in the way goes; None if it is gone."""

    refusal: Refusal | NoAccess
    expires_at: float | None


class WriteService:
    """The use case. That an agent asks is a sign of life of it."""

    def __init__(self, leases: LeaseService) -> None:
        self._leases = leases

    async def check(
        self, asking: Asking, paths: Sequence[bytes], *, run: str, ignore_case: bool, shared: bool
    ) -> list[Refused]:
        """Those of the paths, from the top of the repository, that whoever asks must not write now.

        `run` is the run of the agent that the asking process is of, if it is known. With `shared`, what others hold
        together counts as well as what somebody holds alone.
        """
        if len(paths) > MOST_PATHS:
            raise WrongUseError(f"these are {len(paths)} paths", f"ask about {MOST_PATHS} at a time")
        realm, party = realm_of(asking.team), asking.party
        held = self._leases.of_realm(realm)
        writer = Writer(party=party.name, run=run, present_run=party.run)
        session = writer.session
        if session:
            self._leases.renew_all(realm, Party(party.name, session))
        lost = self._leases.lost_by(party.name, session, realm) if session else []
        ignore_case = ignore_case or asking.team.ignore_case  # who asks may not have looked
        writes = Writes(writer, held, lost, ignore_case=ignore_case, shared=shared)
        fence = fence_of(asking, ignore_case=ignore_case)
        if writes.all_allowed and fence is None:
            return []
        found: list[Refusal | NoAccess] = []
        for begin in range(0, len(paths), _AT_ONCE):
            names = [os.fsdecode(path) for path in paths[begin : begin + _AT_ONCE]]
            found += refusals(writes, names, MOST_REFUSALS - len(found), fence)
            if len(found) >= MOST_REFUSALS:
                break
            if begin + _AT_ONCE < len(paths):
                await asyncio.sleep(0)
        return [Refused(one, self._until(one)) for one in found]

    def _until(self, one: Refusal | NoAccess) -> float | None:
        return self._leases.until(one.lease) if isinstance(one, Refusal) and one.is_held else None


def fence_of(asking: Asking, *, ignore_case: bool) -> Fence | None:
    """What whoever asks is declared to write of the team's repository; None if that is all of it.

    The patterns of an agent that works elsewhere are about its own directory, where the kernel sees to them.
    """
    agent = asking.agent
    if agent is None or agent.access.write is None or not is_of_repository(asking.team, agent.workspace_kind):
        return None
    return Fence(agent.access.write, ignore_case=ignore_case)
