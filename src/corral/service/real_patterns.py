"""Patterns as they are when symbolic links are followed: two names for a file must not be two leases on it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.linked_patterns import Target, can_name_links, followed, names_directories
from corral.domain.path_patterns import Pattern
from corral.ports.links import RealPath, SymbolicLinks
from corral.supervise.supervisor import Supervisor

#: What was looked up is believed for so many seconds, and so many are: who holds files asks often, and links are few.
_SECONDS, _MOST = 2.0, 10_000


class RealPatterns:
    """Asks a keeper, because the files are where it is."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        # By team as well: what is in a directory is the word of the keeper of a team that says it is there.
        #: By team, directory and beginning: until when it is believed, and where it leads.
        self._known: dict[tuple[str, str, str], tuple[float, RealPath]] = {}
        #: By team and directory: until when they are believed, and the links below it.
        self._links: dict[tuple[str, str], tuple[float, SymbolicLinks]] = {}

    async def of(self, team: str, directory: str, patterns: Sequence[Pattern]) -> tuple[Pattern, ...]:
        """The patterns below the directory, with links followed: one may become several.

        `RefusedError` for one that leads out of the directory, `WrongUseError` for one that is a directory itself: it
        would be taken for a file.
        """
        real = await self._leads_to(team, directory, {"/".join(pattern.beginning) for pattern in patterns})
        found = [_from_its_beginning(pattern, real) for pattern in patterns]
        if any(can_name_links(pattern) for pattern in found):
            links = await self._links_below(team, directory)
            targets = {one.link: Target(one.leads_to.path, one.leads_to.directory) for one in links.links}
            found = [one for pattern in found for one in _through_links(pattern, targets, whole=links.whole)]
        return tuple(dict.fromkeys(found))

    async def _leads_to(self, team: str, directory: str, beginnings: set[str]) -> Mapping[str, RealPath]:
        """Where beginnings lead; of one that cannot be asked for, nothing."""
        now = asyncio.get_running_loop().time()
        found: dict[str, RealPath] = {}
        unknown: list[str] = []
        # What is no text cannot be asked for. Nobody holds it by its name: it is compared with patterns as it is.
        for beginning in sorted(one for one in beginnings if one and _is_text(one)):
            until, leads_to = self._known.get((team, directory, beginning), (0.0, None))
            if leads_to is not None and until >= now:
                found[beginning] = leads_to
            else:
                unknown.append(beginning)
        if unknown:
            real = await self._supervisor.insist_at(
                team, lambda keeper: keeper.real_paths(directory, unknown), directory
            )
            if len(self._known) > _MOST:
                self._known.clear()
            for beginning, leads_to in zip(unknown, real, strict=True):
                self._known[team, directory, beginning] = (now + _SECONDS, leads_to)
                found[beginning] = leads_to
        return found

    async def _links_below(self, team: str, directory: str) -> SymbolicLinks:
        now = asyncio.get_running_loop().time()
        until, links = self._links.get((team, directory), (0.0, None))
        if links is None or until < now:
            links = await self._supervisor.insist_at(team, lambda keeper: keeper.symbolic_links(directory), directory)
            self._links = {where: known for where, known in self._links.items() if known[0] >= now}
            self._links[team, directory] = (now + _SECONDS, links)
        return links


def _from_its_beginning(pattern: Pattern, real: Mapping[str, RealPath]) -> Pattern:
    beginning = "/".join(pattern.beginning)
    leads_to = real.get(beginning)
    if leads_to is None:
        return pattern
    if leads_to.path is None:
        raise RefusedError(
            f"{pattern.text} leads out of the repository, by a symbolic link",
            "hold what is in the repository; what is elsewhere is not this team's",
        )
    if leads_to.directory and pattern.is_plain:
        raise WrongUseError(
            f"{pattern.text} is a directory, and not a file", f"{pattern.text}/ means everything below it"
        )
    if leads_to.path == beginning:
        return pattern
    return pattern.below([] if leads_to.path == "." else leads_to.path.split("/"))


def _through_links(pattern: Pattern, links: Mapping[str, Target], *, whole: bool) -> Sequence[Pattern]:
    if not can_name_links(pattern):
        return (pattern,)
    if not whole and names_directories(pattern):
        raise RefusedError(
            f"{pattern.text} may go through a symbolic link: there are too many here to look at each",
            "name the directories that you mean; ** and a slash at the end follow no link",
        )
    return followed(pattern, links)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
