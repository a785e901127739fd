"""Whose a process is, by its id alone.

Ids are chosen by whoever starts a command, and keepers say which ones there are: neither is believed about an id that
is another agent's.
"""

from __future__ import annotations

from collections.abc import Callable

#: The team and the agent.
Owner = tuple[str, str]
#: Ids that are remembered of each agent; its oldest go first.
MOST_REMEMBERED = 10_000


class ProcessOwners:
    """Remembers it, so that processes need not be looked for.

    An id stays that of the agent it was remembered for as long as that is known, whatever is said of it later and
    however many ids others have.
    """

    def __init__(self, is_known: Callable[[Owner], bool]) -> None:
        self._is_known = is_known
        self._owners: dict[str, Owner] = {}
        #: Several agents that have an id, by that: nobody can tell whose it is while more than one is there.
        self._contested: dict[str, set[Owner]] = {}
        #: The ids of each agent, the oldest first. Each has room of its own, so that nobody can push out another's.
        self._ids: dict[Owner, dict[str, None]] = {}

    def get(self, process: str) -> Owner | None:
        """Whose it is; None if nobody remembers, or can tell, or whose it was is gone."""
        owner = None if self.is_contested(process) else self._owners.get(process)
        return owner if owner is not None and self._is_known(owner) else None

    def remember(self, process: str, owner: Owner) -> None:
        """It is that agent's, unless it is another's."""
        if self.is_contested(process) or self.get(process) is not None or not self._is_known(owner):
            return
        if owner not in self._ids:
            self._forget_the_gone()
        self._drop(process)
        self._owners[process] = owner
        ids = self._ids.setdefault(owner, {})
        ids[process] = None
        if len(ids) > MOST_REMEMBERED:
            self._drop(next(iter(ids)))

    def contest(self, process: str, owner: Owner) -> None:
        """This agent has it as well as whose it is already, and it may be either's: from now on it is nobody's by its
        id alone, until one of the two is gone, or does not have it any more."""
        rivals = self._contested.setdefault(process, set())
        rivals.update(one for one in (self._owners.get(process), owner) if one is not None)

    def is_contested(self, process: str) -> bool:
        """Whether several agents have it."""
        rivals = self._contested.get(process)
        if rivals is None:
            return False
        left = [one for one in rivals if self._is_known(one)]
        if len(left) > 1:
            return True
        del self._contested[process]
        self._drop(process)
        if left:
            self.remember(process, left[0])
        return False

    def rivals(self, process: str) -> list[Owner]:
        """The agents that have it, if there are several."""
        return sorted(filter(self._is_known, self._contested.get(process, ())))

    def forget(self, process: str, owner: Owner) -> None:
        """It is not that agent's any more. If it is another's, it stays so."""
        self._contested.get(process, set()).discard(owner)
        if self._owners.get(process) == owner:
            self._drop(process)

    def _drop(self, process: str) -> None:
        owner = self._owners.pop(process, None)
        if owner is not None:
            del self._ids[owner][process]

    def _forget_the_gone(self) -> None:
        for owner in [owner for owner in self._ids if not self._is_known(owner)]:
            for process in self._ids.pop(owner):
                del self._owners[process]
