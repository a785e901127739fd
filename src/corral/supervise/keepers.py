"""The daemon's keepers: one in the instance of one person, one for each OS user on a shared server (ADR 23).

Whoever needs a keeper says for which team, agent or person. A keeper is believed about what runs for its own user and
about nothing else: it is a process of that user, who can have it say anything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager

from corral.domain.errors import RefusedError
from corral.domain.records import Agent
from corral.domain.spec_model import SHARED
from corral.ports.keeper import Keeper
from corral.ports.reports import BranchesMoved, Report, RunExited, ServerChanged
from corral.supervise.floods import Floods
from corral.supervise.link import KeeperLink, Link
from corral.supervise.registry import Registry
from corral.supervise.team_link import TeamLink

log = logging.getLogger("corral.daemon")

#: Opens a connection to a user's keeper, starting it if there is none: (user, on_report, on_lost) → keeper. The user is
#: empty in the instance of one person.
Connect = Callable[[str, Callable[[Report], None], Callable[[], None]], Awaitable[Keeper]]


class Keepers:
    """Links by user. `shared` says that there are several users; else there is one link, whatever is asked for."""

    def __init__(
        self,
        registry: Registry,
        connect: Connect,
        on_report: Callable[[Report], None],
        on_lost: Callable[[str, str], None],
        *,
        shared: bool = False,
    ) -> None:
        """`on_lost` hears of a connection that broke: whose keeper it was, and if it was hung up on, why."""
        self._registry = registry
        self._connect = connect
        self._on_report = on_report
        self._on_lost = on_lost
        self.shared = shared
        self._links: dict[str, KeeperLink] = {}
        self._floods = Floods(lambda: asyncio.get_running_loop().time())
        #: Whose a team is going to be that is not written down yet.
        self._claims: dict[str, str] = {}
        #: Of teams that have more than one user, the links to some of those, each with whose the team was.
        self._several: dict[tuple[str, tuple[str, ...]], tuple[str, TeamLink]] = {}
        self._only = None if shared else self._link("")

    def of(self, team: str, agents: Collection[str] = ()) -> Link:
        """The link for what concerns a team: to its user's keeper, or to all of them if it has several users.

        For what concerns some agents of it alone, to the keepers of those: another that is silent is in nobody's way.
        """
        if self._only is not None:
            return self._only
        owner, everybody = self.owner(team), self.users(team)
        if len(everybody) == 1:
            return self._link(owner)
        users = tuple(self._users_of(team, agents)) if agents else tuple(everybody)
        known = self._several.get((team, users))
        if known is None or known[0] != owner:
            link = TeamLink(
                owner, lambda: {user: self._link(user) for user in users}, lambda: self._registry.of_team(team)
            )
            there = self._registry.teams
            self._several = {about: one for about, one in self._several.items() if about[0] in there}
            known = self._several[team, users] = (owner, link)
        return known[1]

    def of_agent(self, agent: Agent) -> KeeperLink:
        """The link to the keeper that runs an agent."""
        return self._only or self._link(self.user_of(agent))

    def user_of(self, agent: Agent) -> str:
        """The OS user that runs an agent; in the instance of one person they are all the same, and not told."""
        return (agent.run_as or self.owner(agent.team)) if self.shared else ""

    def at(self, team: str, directory: str = "") -> KeeperLink:
        """The link to the keeper that has a directory: of the agent whose workspace it is. All else of a team, its
        repository with the checkout that is shared, its merge queue and its host, is of the team's own user.
        """
        agents = [one for one in self._registry.of_team(team).values() if one.workspace_kind != SHARED]
        of = (self.of_agent(agent) for agent in agents if directory and agent.workspace == directory)
        return next(of, None) or self.of_user(self.owner(team))

    def parts(self, team: str, agents: Collection[str] = ()) -> list[tuple[str, KeeperLink]]:
        """The keepers of a team, or of some agents of it, by user."""
        if self._only is not None:
            return [("", self._only)]
        users = self._users_of(team, agents) if agents else self.users(team)
        return [(user, self._link(user)) for user in users]

    def _users_of(self, team: str, agents: Collection[str]) -> list[str]:
        owner, known = self.owner(team), self._registry.of_team(team)
        by = {(known[name].run_as if name in known else "") or owner for name in agents}
        return [user for user in self.users(team) if user in by]

    def strangers(self, user: str, team: str) -> set[str]:
        """The agents of a team that are run by others than this user."""
        if not self.shared:
            return set()
        return {one.name for one in self._registry.of_team(team).values() if user != self.user_of(one)}

    def users(self, team: str) -> list[str]:
        """The OS users that agents of a team are run by, its own first."""
        known = self._registry.teams.get(team)
        return list(dict.fromkeys([self.owner(team), *(known.agent_users if known is not None else ())]))

    def of_user(self, user: str) -> KeeperLink:
        """The link for what is done for a person, whatever the team."""
        return self._only or self._link(user)

    def owner(self, team: str) -> str:
        """The OS user whose team it is; empty in the instance of one person, and for a team that nobody has."""
        known = self._registry.teams.get(team)
        return known.user if known is not None else self._claims.get(team, "")

    @asynccontextmanager
    async def claimed(self, team: str, user: str) -> AsyncIterator[None]:
        """In this block, a team that is not known is the user's. The caller holds the team's lock."""
        self._claims[team] = user
        try:
            yield
        finally:
            del self._claims[team]

    @property
    def links(self) -> dict[str, KeeperLink]:
        """Those that were needed up to now, by user."""
        return dict(self._links)

    @property
    def presence(self) -> str:
        """ "present" while one is connected, and every one that a team needs, else "absent"."""
        present = [presence == "present" for presence in self.presences.values()]
        return "present" if present and all(present) else "absent"

    @property
    def presences(self) -> dict[str, str]:
        """By user, whether their keeper is connected: of all that a team needs, and of others that are."""
        needed = self._users_of_all(self._registry.teams) if self.shared else set(self._links)
        return self._presences(needed | self._connected())

    def presences_of(self, teams: Iterable[str]) -> dict[str, str]:
        """On a shared server, the same of those that these teams need alone."""
        return self._presences(self._users_of_all(teams))

    def _users_of_all(self, teams: Iterable[str]) -> set[str]:
        return {user for team in teams for user in self.users(team)}

    def _connected(self) -> set[str]:
        return {user for user, link in self._links.items() if link.connected is not None}

    def _presences(self, users: Iterable[str]) -> dict[str, str]:
        connected = self._connected()
        return {user: "present" if user in connected else "absent" for user in sorted(users)}

    def teams_of(self, user: str) -> list[str]:
        """The teams that the keeper of this user has to do with."""
        return [team for team in self._registry.teams if not self.shared or user in self.users(team)]

    def _link(self, user: str) -> KeeperLink:
        link = self._links.get(user)
        if link is None:

            async def connect(on_report: Callable[[Report], None], on_lost: Callable[[], None]) -> Keeper:
                if self.shared:
                    self._floods.check(user)
                return await self._connect(user, on_report, on_lost)

            def heard(report: Report) -> None:
                self._hear(user, report)

            told = heard if self.shared else self._on_report
            link = self._links[user] = KeeperLink(connect, told, lambda: self._lost(user))
        return link

    def _lost(self, user: str) -> None:
        if not self.shared or self._floods.lost(user):
            self._on_lost(user, self._floods.news(user))

    def _hear(self, user: str, report: Report) -> None:
        """On a shared server. Raises RefusedError for a keeper that says too much."""
        believed = self._may_tell(user, report)
        try:
            self._floods.told(user, report, believed=believed)
        except RefusedError:
            # Here and not when the connection is lost: one that nobody relies on yet is lost in silence.
            if why := self._floods.news(user):
                self._on_lost(user, why)
            raise
        if believed:
            self._on_report(report)
        else:
            log.warning("the keeper of %s spoke of team %.64r, which is not its: not believed", user, report.team)

    def _may_tell(self, user: str, report: Report) -> bool:
        if isinstance(report, ServerChanged | BranchesMoved):
            return user in self.users(report.team)
        name = report.run.agent if isinstance(report, RunExited) else report.agent
        agent = self._registry.agents.get((report.team, name))
        # Of an agent that is not there nobody needs to know: the names of such are without number.
        return agent is not None and user == self.user_of(agent)
