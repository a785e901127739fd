"""What somebody means who asks for files or a lock: whose it is, where the names count, and how long it stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain.errors import WrongUseError
from corral.domain.lease_model import EXCLUSIVE, SHARED, Claim, Party, lease_name
from corral.domain.path_patterns import Pattern, check_request, parse, plain
from corral.domain.records import Agent, Team
from corral.domain.spec_model import SHARED as SHARED_CHECKOUT
from corral.domain.spec_model import WORKTREE
from corral.service.real_patterns import RealPatterns
from corral.service.resolve import Roster
from corral.supervise.supervisor import Supervisor

#: In one claim, and in a question that nobody holds anything by.
_MOST_PATTERNS, _MOST_PATHS = 64, 10_000
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
        if len(patterns) > _MOST_PATTERNS:
            raise WrongUseError(
                f"these are {len(patterns)} patterns",
                f"at most {_MOST_PATTERNS} are possible at once: a directory with a slash at its end is one",
            )
        found = _read(patterns, literal=literal)
        check_request(found)
        return await self._claim(asking, found, shared=shared, ttl=ttl)

    async def _claim(self, asking: Asking, patterns: Sequence[Pattern], *, shared: bool, ttl: float | None) -> Claim:
        party, terms = asking.party, asking.team.leases
        real = await self._real.of(asking.team.name, files_of(asking.team, asking.agent), patterns)
        check_request(real)  # by way of links, they may be more than were asked for
        return Claim(
            realm=realm_of(asking.team),
            patterns=real,
            mode=SHARED if shared else EXCLUSIVE,
            party=party,
            ttl=ttl or (terms.suspect if party.run else terms.person),
            ignore_case=asking.team.ignore_case,
        )

    async def paths(self, asking: Asking, paths: Sequence[str]) -> Claim:
        """On these files, to be asked about and not to be held: there may be many of them."""
        if len(paths) > _MOST_PATHS:
            raise WrongUseError(f"these are {len(paths)} paths", f"ask about {_MOST_PATHS} at a time, as xargs does")
        return await self._claim(asking, _read(paths, literal=True), shared=False, ttl=None)

    def lock(
        self,
        asking: Asking,
        name: str,
        *,
        ttl: float | None = None,
        while_agent_runs: bool = False,
        within: Sequence[int] = (),
    ) -> Claim:
        """On a name. It goes when nobody renews it, or with the run of the agent that asks.

        `within` are the tokens of the locks that the command runs within which asks.
        """
        if not _NAME.fullmatch(name):
            raise WrongUseError(
                f"{name[:100]!r} cannot be the name of a lock", "letters, digits, . _ and -, at most 100"
            )
        return Claim(
            realm=locks_of(asking.team),
            patterns=(plain(name),),
            mode=EXCLUSIVE,
            # Mostly it is held by a command, and not by the run of the agent that the command is of.
            party=asking.party if while_agent_runs else Party(asking.party.name),
            ttl=ttl or asking.team.leases.lock,
            lock=True,
            within=tuple(map(lease_name, within)),
        )


def realm_of(team: Team) -> str:
    """Where its patterns mean the same files: teams of one repository share them.

    On a shared server those of one person do: what a team says of where it is, is its owner's word, and nobody shall
    come among the leases of others by naming their directory.
    """
    where = files_of(team, None)
    return f"{where} of {team.user}" if team.user else where


def locks_of(team: Team) -> str:
    """Where the names of its locks count."""
    return f"locks of {team.name}"


def whose_is(party: str, team: Team, roster: Roster) -> tuple[str, str]:
    """The team and the agent that are asked about before somebody is told what a party holds.

    What a person holds is the team's that it is looked at in. An agent that is gone counts as its team.
    """
    named, slash, agent = party.partition("/")
    if not slash:
        return team.name, ""
    return named, agent if (named, agent) in roster.agents else ""


def files_of(team: Team, agent: Agent | None) -> str:
    """Where the files are that whoever asks means."""
    if agent is not None and agent.workspace_kind in (WORKTREE, SHARED_CHECKOUT):
        return agent.workspace
    return team.repo or team.directory


def _read(texts: Sequence[str], *, literal: bool) -> tuple[Pattern, ...]:
    if not texts:
        raise WrongUseError("which files?", "give at least one pattern, such as src/")
    return tuple(_literal(text) if literal else parse(text) for text in texts)


def _literal(path: str) -> Pattern:
    """The file of that name; with a slash at the end, everything below the directory of that name."""
    name = path.removesuffix("/")
    return parse(plain(name).text + "/") if name and name != path else plain(path)
