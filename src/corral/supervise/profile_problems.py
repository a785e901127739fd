"""Telling the log, once, of a person's own profiles that were left out for a mistake."""

from __future__ import annotations

import logging

from corral.agents import catalogue

log = logging.getLogger("corral.daemon")


class ProfileProblems:
    """What was told already."""

    def __init__(self) -> None:
        self._told: tuple[catalogue.Problem, ...] = ()

    def tell(self) -> None:
        """Say what is new. They are read again when they change."""
        found = catalogue.problems()
        for problem in found:
            if problem not in self._told:
                first, *more = problem.message.splitlines()
                others = f", and {len(more)} more: corral profile ls" if more else ""
                log.warning("a profile is left out: %s%s", first, others)
        self._told = found
