"""What a lease is, and when two of them are in each other's way: the words that all else about leases is said in."""

from __future__ import annotations

from dataclasses import dataclass, field

from corral.domain.errors import NotFoundError
from corral.domain.path_patterns import Pattern, folded

EXCLUSIVE, SHARED = "exclusive", "shared"


@dataclass(frozen=True, slots=True)
class Party:
    """Who holds or wants something: an agent as TEAM/AGENT, or a person."""

    name: str
    #: The run of the agent that it belongs to; empty if it lives by being renewed.
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What somebody wants: all of the patterns, or nothing."""

    realm: str
    patterns: tuple[Pattern, ...]
    mode: str
    party: Party
    #: Seconds that it stays without a sign of life.
    ttl: float
    #: It is a lock: held by a command, and so in the way of others of the same party as well.
    lock: bool = False
    #: Names of the locks that the command runs within which asks for this one.
    within: tuple[str, ...] = ()
    #: Names there are the same whatever their case.
    ignore_case: bool = False
    #: The patterns without case, once they were needed.
    _folded: list[tuple[Pattern, ...]] = field(init=False, compare=False, repr=False, default_factory=list)

    @property
    def compared(self) -> tuple[Pattern, ...]:
        """The patterns as they are compared, in their order."""
        if not self.ignore_case:
            return self.patterns
        if not self._folded:
            self._folded.append(tuple(folded(pattern) for pattern in self.patterns))
        return self._folded[0]

    def excludes(self, other: Claim) -> bool:
        """True if both cannot be held, should a file be named by both."""
        if self.realm != other.realm or (self.party.name == other.party.name and not self.lock):
            return False
        return self.mode != SHARED or other.mode != SHARED

    def is_in_the_way_of(self, other: Claim) -> Pattern | None:
        """The first of our patterns that keeps the other from being granted."""
        if not self.excludes(other):
            return None
        wanted = other.compared
        for shown, ours in zip(self.patterns, self.compared, strict=True):
            if any(ours.overlaps(theirs) for theirs in wanted):
                return shown
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What somebody holds."""

    lease: str
    #: Greater than that of every earlier lease.
    token: int
    claim: Claim
    #: Unix seconds at which it was granted.
    since: float
    #: Its run has ended: it goes at its deadline.
    suspect: bool = False


def lease_name(token: int) -> str:
    """What the lease with a token is called."""
    return f"l{token}"


def no_lease(lease: str) -> NotFoundError:
    """What is said of a lease that there is not."""
    return NotFoundError(
        f"there is no lease {lease[:80]}", "it was released or has expired; corral lease ls shows what there is"
    )


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a claim from being granted: a lease, or somebody who came first and waits for one."""

    #: Of whoever is in the way, and what of it is.
    claim: Claim
    pattern: Pattern
    #: What is in the way, or what whoever is in the way waits for; None if that is just being granted.
    lease: Lease | None
    #: Whoever is in the way holds it.
    held: bool
