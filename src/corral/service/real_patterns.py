"""Patterns as they are when symbolic links are followed: two names for a file must not be two leases on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from corral.domain.errors import RefusedError
from corral.domain.path_patterns import Pattern
from corral.supervise.supervisor import Supervisor

#: What was looked up is believed for so many seconds, and so many are: who holds files asks often, and links are few.
_SECONDS, _MOST = 2.0, 10_000


class RealPatterns:
    """Asks a keeper, because the files are where it is."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        #: By directory and beginning: until when it is believed, and where it leads.
        self._known: dict[tuple[str, str], tuple[float, str | None]] = {}

    async def of(self, directory: str, patterns: Sequence[Pattern]) -> tuple[Pattern, ...]:
        """The patterns below the directory, with links followed. `RefusedError` for one that leads out of it."""
        beginnings = {one for one in ("/".join(pattern.beginning) for pattern in patterns) if one and _is_text(one)}
        now = asyncio.get_running_loop().time()
        unknown = [one for one in sorted(beginnings) if self._known.get((directory, one), (0.0, ""))[0] < now]
        if unknown:
            real = await self._supervisor.insist(lambda keeper: keeper.real_paths(directory, unknown))
            if len(self._known) > _MOST:
                self._known.clear()
            for one, leads_to in zip(unknown, real, strict=True):
                self._known[directory, one] = (now + _SECONDS, leads_to)
        return tuple(self._followed(directory, pattern) for pattern in patterns)

    def _followed(self, directory: str, pattern: Pattern) -> Pattern:
        beginning = "/".join(pattern.beginning)
        # What is no text cannot be asked for. Nobody holds it by its name: it is compared with patterns as it is.
        if not beginning or not _is_text(beginning):
            return pattern
        _, leads_to = self._known[directory, beginning]
        if leads_to is None:
            raise RefusedError(
                f"{pattern.text} leads out of the repository, by a symbolic link",
                "hold what is in the repository; what is elsewhere is not this team's",
            )
        if leads_to == beginning:
            return pattern
        return pattern.below([] if leads_to == "." else leads_to.split("/"))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
