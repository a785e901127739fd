"""Lists that the keepers of several teams are asked for.

On a shared server each of them is somebody's own process. One that is stopped, stuck or that lies concerns its user
alone: the list has what the others tell, and says of which teams nothing is known, and why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from corral.domain.errors import CorralError, outline
from corral.domain.foreign_words import told_error
from corral.service.resolve import Roster
from corral.service.sight import Sight
from corral.supervise.keepers import Keepers

log = logging.getLogger("corral.daemon")
_T = TypeVar("_T")
#: So long a list waits for keepers, when there are others that it can be made of.
LIST_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Asked(Generic[_T]):
    """What keepers answered."""

    #: By team, in the order in which they were asked about.
    answers: Mapping[str, _T]
    #: By team, why nothing is known of it.
    unknown: Mapping[str, str] = field(default_factory=dict)


async def ask_each(
    keepers: Keepers, teams: Sequence[str], ask: Callable[[str], Awaitable[_T]], *, named: bool
) -> Asked[_T]:
    """Ask about each of these teams.

    Where there is but one keeper, or `named` says that somebody wants to know of just this team, a keeper that fails is
    the answer: it is raised.
    """
    if named or not keepers.shared:
        found = await asyncio.gather(*map(ask, teams))
        return Asked(dict(zip(teams, found, strict=True)))
    asked = {team: asyncio.ensure_future(ask(team)) for team in teams}
    for asking in asked.values():
        # Nobody may be there any more to hear of it.
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())
    if asked:
        await asyncio.wait(asked.values(), timeout=LIST_SECONDS)
    answers, unknown = {}, {}
    for team, asking in asked.items():
        if not asking.done():
            # Not cancelled: when it comes to nothing, its keeper is known to be silent, and the next list waits less.
            users = " and ".join(keepers.users(team))
            unknown[team] = f"the keeper of {users} has not answered within {LIST_SECONDS:.0f} s"
        elif asking.cancelled():
            unknown[team] = "the daemon gave the question up"
        elif (error := asking.exception()) is None:
            answers[team] = asking.result()
        elif isinstance(error, CorralError):
            unknown[team] = told_error(error)
        else:
            # What nobody foresaw of one keeper's answer is not to take the list from everybody either.
            log.error(
                "what the keeper of %s says of %s made the daemon fail", keepers.owner(team), team, exc_info=error
            )
            unknown[team] = f"the daemon failed: {outline(error)}"
    return Asked(answers, unknown)


async def teams_seen(sight: Sight, roster: Roster) -> list[str]:
    """The teams of which somebody may be told, or of one of their agents. The keepers of no others need be asked."""
    rows = [(team, agent) for team in sorted(roster.teams) for agent in ("", *roster.of_team(team))]
    return list(dict.fromkeys(team for team, _ in await sight.rows(rows, lambda row: row)))
