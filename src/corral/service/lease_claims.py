"""What somebody means who asks for files or a lock: whose it is, where the names count, and how long it stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain.errors import WrongUseError
from corral.domain.leases import EXCLUSIVE, SHARED, Claim, Party
from corral.domain.path_patterns import Pattern, parse, plain
from corral.domain.records import Agent, Team
from corral.domain.spec_model import SHARED as SHARED_CHECKOUT
from corral.domain.spec_model import WORKTREE
from corral.service.real_patterns import RealPatterns
from corral.supervise.supervisor import Supervisor

_MOST_PATTERNS = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who asks: an agent of a team, or a person."""

    team: Team
    agent: Agent | None
    user: str

    @property
    def party(self) -> Party:
        return Party(self.user) if self.agent is None else Party("/".join(self.agent.key), self.agent.run)


class LeaseClaims:
    """Makes claims of what is asked for."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._real = RealPatterns(supervisor)

    async def files(
        self,
        asking: Asking,
        patterns: Sequence[str],
        *,
        shared: bool = False,
        literal: bool = False,
        ttl: float | None = None,
    ) -> Claim:
        """On the files that the patterns name, with symbolic links followed. Without a time to live, the team's."""
        party, terms = asking.party, asking.team.leases
        return Claim(
            realm=realm_of(asking.team),
            patterns=await self._real.of(files_of(asking.team, asking.agent), _patterns(patterns, literal=literal)),
            mode=SHARED if shared else EXCLUSIVE,
            party=party,
            ttl=ttl or (terms.suspect if party.run else terms.person),
        )

    def lock(self, asking: Asking, name: str, *, ttl: float | None = None) -> Claim:
        """On a name."""
        if not _NAME.fullmatch(name):
            raise WrongUseError(
                f"{name[:100]!r} cannot be the name of a lock", "letters, digits, . _ and -, at most 100"
            )
        return Claim(
            realm=locks_of(asking.team),
            patterns=(plain(name),),
            mode=EXCLUSIVE,
            # Held by a command, and not by the run of the agent that it is of: it goes when nobody renews it.
            party=Party(asking.party.name),
            ttl=ttl or asking.team.leases.lock,
        )


def realm_of(team: Team) -> str:
    """Where its patterns mean the same files: teams of one repository share them."""
    return team.repo or team.directory


def locks_of(team: Team) -> str:
    """Where the names of its locks count."""
    return f"locks of {team.name}"


def files_of(team: Team, agent: Agent | None) -> str:
    """Where the files are that whoever asks means."""
    if agent is not None and agent.workspace_kind in (WORKTREE, SHARED_CHECKOUT):
        return agent.workspace
    return team.repo or team.directory


def _patterns(texts: Sequence[str], *, literal: bool) -> tuple[Pattern, ...]:
    if not texts:
        raise WrongUseError("which files?", "give at least one pattern, such as src/")
    if len(texts) > _MOST_PATTERNS:
        raise WrongUseError(f"that are {len(texts)} patterns", f"at most {_MOST_PATTERNS} are possible at once")
    return tuple(plain(text) if literal else parse(text) for text in texts)
