"""May a merge land, as leases are now? Asked when a branch is submitted, and again when its effect is about to land."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from corral.domain.access import shown_write
from corral.domain.errors import RefusedError
from corral.domain.lease_model import EXCLUSIVE
from corral.domain.merge_records import Merge
from corral.domain.records import Team
from corral.domain.repository import BRANCHES
from corral.domain.timestamps import timestamp
from corral.domain.told_names import told_name, told_pattern
from corral.domain.writes import NoAccess
from corral.service.lease_claims import Asking, realm_of
from corral.service.leases import LeaseService
from corral.service.writes import MOST_PATHS, Refused, WriteService, fence_of
from corral.supervise.registry import Registry


class MergeChecks:
    """What is asked of leases. Nothing is held by it."""

    def __init__(self, registry: Registry, leases: LeaseService) -> None:
        self._registry = registry
        self._leases = leases
        self._writes = WriteService(leases)

    async def check(
        self, team: Team, merge: Merge, paths: Sequence[bytes], *, too_many: bool, ignore_case: bool
    ) -> None:
        """Raise `RefusedError` if a token of it is stale, or if it changes what somebody else holds alone."""
        self.check_tokens(team, merge)
        asking = Asking(
            team=team,
            agent=self._registry.agents.get((team.name, merge.agent)) if merge.agent else None,
            # An agent that was removed is a party all the same.
            user=merge.party,
        )
        if too_many:
            self._check_all(team, merge)
            if fence_of(asking, ignore_case=ignore_case) is not None:
                raise RefusedError(
                    f"{merge.branch} changes too many files to look at each, and {merge.party} may not write all",
                    "merge in smaller parts",
                )
        for begin in range(0, len(paths), MOST_PATHS):
            portion = paths[begin : begin + MOST_PATHS]
            found = await self._writes.check(asking, portion, run=merge.run, ignore_case=ignore_case, shared=False)
            if found:
                raise _refusal(merge, found)
        self._check_owner(team, merge, paths, ignore_case=ignore_case)

    def _check_owner(self, team: Team, merge: Merge, paths: Sequence[bytes], *, ignore_case: bool) -> None:
        """Whoever submits an agent's branch for it, what the agent may not write does not land by that."""
        name = branch_owner(team, merge.branch)
        owner = self._registry.agents.get((team.name, name)) if name != merge.agent else None
        fence = fence_of(Asking(team=team, agent=owner, user=merge.party), ignore_case=ignore_case)
        outside = [refusal for path in paths if fence and (refusal := fence.refusal(os.fsdecode(path)))]
        if outside:
            raise _no_access(merge, f"{team.name}/{name}", outside[0], len(outside) - 1)

    def check_tokens(self, team: Team, merge: Merge) -> None:
        """Raise `RefusedError` if it relies on a lease that its party does not have any more."""
        realm = realm_of(team)
        held = {lease.token for lease in self._leases.of_party(merge.party) if lease.claim.realm == realm}
        for token in merge.tokens:
            if token not in held:
                raise RefusedError(
                    f"token {token} is stale: {merge.party} holds no lease with it any more",
                    f"acquire it again, look at what has changed meanwhile, then {_again(merge)} with --token and the "
                    "new token",
                    token=token,
                )

    def _check_all(self, team: Team, merge: Merge) -> None:
        """Too many files to look at one by one: nobody else may hold anything alone."""
        for lease in self._leases.of_realm(realm_of(team)):
            if lease.claim.mode == EXCLUSIVE and lease.claim.party.name != merge.party:
                holder, pattern = lease.claim.party.name, lease.claim.patterns[0].text
                holds = f"{holder} holds {told_pattern(pattern)}"
                raise RefusedError(
                    f"{merge.branch} changes too many files to look at each, and {holds}",
                    "wait until nobody holds anything, or merge in smaller parts",
                    holder=holder,
                    pattern=pattern,
                )


def branch_owner(team: Team, branch: str) -> str:
    """The name of the agent whose branch it is by its name; empty if it is nobody's."""
    name = branch.removeprefix(f"{BRANCHES}/{team.name}/").partition(".")[0]
    return name if name != branch else ""


def _again(merge: Merge) -> str:
    """The command that tries it again: one that is only about to be submitted has no number yet."""
    return f"corral merge retry {merge.name}" if merge.number else "corral merge submit"


def _no_access(merge: Merge, whose: str, refusal: NoAccess, more: int) -> RefusedError:
    shown = told_name(refusal.path)
    changes = f"{merge.branch} changes {shown}{f' and {more} more' if more else ''}"
    return RefusedError(
        f"{changes}, and {whose} may write {shown_write(refusal.write)} ([agents.….access] in corral.toml)",
        f"take it out of the branch (git checkout {merge.target} -- FILE, then commit), or leave that part to somebody "
        f"who may write it; then {_again(merge)}",
        path=shown,
        write=list(refusal.write),
    )


def _refusal(merge: Merge, found: Sequence[Refused]) -> RefusedError:
    """What is in the way of the first, or for what is not in the way any more, why it may not land all the same."""
    first = found[0]
    if isinstance(first.refusal, NoAccess):
        return _no_access(merge, merge.party, first.refusal, len(found) - 1)
    lease, pattern, lost = first.refusal.lease, first.refusal.pattern.text, first.refusal.lost
    holder, told = lease.claim.party.name, told_pattern(pattern)
    shown = told_name(first.refusal.path)
    changes = f"{merge.branch} changes {shown}{f' and {len(found) - 1} more' if len(found) > 1 else ''}"
    if first.expires_at is None:
        token = f" (token {lost.token})" if lost is not None else ""
        return RefusedError(
            f"{changes}, and the lease on it that {merge.party} had{token} is lost: {holder} got {told} at "
            f"{timestamp(lease.since)}, and does not hold it any more",
            "look at what has changed there meanwhile, then acquire it again (corral lease acquire --agent "
            f"{merge.party} {shlex.quote(told)}) and hold it until it is merged: {_again(merge)}",
            holder=holder,
            pattern=pattern,
            path=shown,
        )
    how = "took over" if lost is not None else "holds"
    return RefusedError(
        f"{changes}, and {holder} {how} {told} since {timestamp(lease.since)}",
        f"wait until {holder} has released it (corral lease ls), then {_again(merge)}",
        holder=holder,
        pattern=pattern,
        path=shown,
        lease=lease.lease,
        since=timestamp(lease.since),
        expires_at=timestamp(first.expires_at),
    )
