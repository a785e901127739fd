"""May somebody write these files now? Asked by hooks before a write lands.

A file is refused if the asking agent is declared to write elsewhere, if another party holds it, if the asking session
*lost* a lease on it to another party since, or if the asking process is left over from an earlier run of an agent whose
present run holds it. The last two are what tokens are for: whoever was held up and comes back late must not write over
what happened meanwhile.

Where names are the same whatever their case, patterns and paths are compared without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from corral.domain.access import is_elsewhere
from corral.domain.lease_model import SHARED, Lease
from corral.domain.lost_leases import Lost
from corral.domain.path_patterns import Pattern, folded, of_file, parse

#: Why a write is refused: another party holds it; it was lost to another party; a later run of the same agent holds it;
#: the agent is declared to write other files only (`domain.access`).
HELD, LOST, STALE, ACCESS = "held", "lost", "stale", "access"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who wants to write."""

    #: The party: an agent as TEAM/AGENT, or a person.
    party: str
    #: The run of the agent that the asking process is of; empty if that is not known.
    run: str = ""
    #: The run that the agent has now.
    present_run: str = ""

    @property
    def session(self) -> str:
        """The run whose leases are the writer's own: without a word about it, the present one."""
        return self.run or self.present_run


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAccess:
    """One path that the agent may never write, as it is declared."""

    path: str
    #: What it may write.
    write: tuple[str, ...]
    why: str = ACCESS


class Fence:
    """What an agent is declared to write, of a repository."""

    def __init__(self, write: tuple[str, ...], *, ignore_case: bool) -> None:
        self._write = write
        self._ignore_case = ignore_case
        patterns = [parse(text) for text in write if not is_elsewhere(text)]
        self._patterns = [folded(pattern) for pattern in patterns] if ignore_case else patterns

    def refusal(self, path: str) -> NoAccess | None:
        """Why the path may not be written; None if it may be.

        What is below a submodule, which has a slash at its end, is not the repository's: that has the submodule alone.
        """
        if path.endswith("/"):
            return None
        named = of_file(path.casefold() if self._ignore_case else path)
        if any(pattern.matches(named) for pattern in self._patterns):
            return None
        return NoAccess(path=path, write=self._write)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One path that must not be written now."""

    path: str
    why: str
    #: What is in the way, and the pattern of it that names the path.
    lease: Lease
    pattern: Pattern
    #: The lease that the writer had on it, if it was lost.
    lost: Lease | None = None
    #: False if nobody holds `lease` any more: the writer lost its own to it, and it is gone since.
    is_held: bool = True


class Writes:
    """What one writer may write, as leases are now."""

    def __init__(
        self, writer: Writer, held: Iterable[Lease], lost: Iterable[Lost], *, ignore_case: bool, shared: bool
    ) -> None:
        self._ignore_case = ignore_case
        #: By the first part of a pattern, what is in the way. One whose first part may be any is below an empty one.
        self._in_the_way: dict[str, list[tuple[Pattern, Lease, str]]] = {}
        self._own: list[Lease] = []
        for lease in held:
            why = _why(lease, writer, shared=shared)
            if why:
                self._add(lease, why)
            elif lease.claim.party.name == writer.party:
                self._own.append(lease)
        self._lost = list(lost)

    @property
    def all_allowed(self) -> bool:
        """True if nothing could be refused, whatever the path."""
        return not self._in_the_way and not self._lost

    def refusal(self, path: str) -> Refusal | None:
        """Why the path must not be written; None if it may be."""
        named = of_file(path.casefold() if self._ignore_case else path)
        for first in (named.beginning[0], ""):
            for pattern, lease, why in self._in_the_way.get(first, ()):
                if pattern.matches(named):
                    mine = next((lost.lease for lost in self._lost if lease in lost.takers), None)
                    return Refusal(path=path, why=LOST if mine else why, lease=lease, pattern=pattern, lost=mine)
        return self._lost_refusal(path, named)

    def _lost_refusal(self, path: str, named: Pattern) -> Refusal | None:
        for lost in self._lost:
            if self._naming(lost.lease, named) is None:
                continue
            for taker in reversed(lost.takers):
                pattern = self._naming(taker, named)
                if pattern is not None and not self._is_held_since(taker, named):
                    # If it were held still, it would have been found in the way.
                    return Refusal(path=path, why=LOST, lease=taker, pattern=pattern, lost=lost.lease, is_held=False)
        return None

    def _is_held_since(self, taker: Lease, named: Pattern) -> bool:
        return any(own.token > taker.token and self._naming(own, named) is not None for own in self._own)

    def _naming(self, lease: Lease, named: Pattern) -> Pattern | None:
        return next((pattern for pattern in self._patterns(lease) if pattern.matches(named)), None)

    def _patterns(self, lease: Lease) -> Iterator[Pattern]:
        return (folded(pattern) if self._ignore_case else pattern for pattern in lease.claim.patterns)

    def _add(self, lease: Lease, why: str) -> None:
        for pattern in self._patterns(lease):
            first = pattern.beginning[0] if pattern.beginning else ""
            self._in_the_way.setdefault(first, []).append((pattern, lease, why))


def refusals(writes: Writes, paths: Sequence[str], most: int, fence: Fence | None = None) -> list[Refusal | NoAccess]:
    """Those of the paths that must not be written, the first `most` of them."""
    found: list[Refusal | NoAccess] = []
    for path in paths:
        refusal = (fence.refusal(path) if fence is not None else None) or writes.refusal(path)
        if refusal is not None:
            found.append(refusal)
            if len(found) == most:
                break
    return found


def _why(lease: Lease, writer: Writer, *, shared: bool) -> str:
    """Why a lease would refuse a write to what it names; empty if it does not."""
    party = lease.claim.party
    if party.name != writer.party:
        return HELD if shared or lease.claim.mode != SHARED else ""
    is_left_over = writer.run and writer.run != writer.present_run
    return STALE if is_left_over and party.run == writer.present_run else ""
