"""Leases and locks: never two at once who are in each other's way, tokens that only grow, and no grant that is lost."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tests.history.record import OK, Operation


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A time in which somebody certainly held something: it was told so, and had not begun to give it back."""

    client: str
    lease: str
    token: int
    since: float
    until: float
    #: The files, or the lock.
    names: frozenset[str]
    shared: bool = False
    #: It is held by a command, and so in the way of others of the same client as well.
    lock: bool = False

    def is_in_the_way_of(self, other: "Hold") -> bool:
        if self.client == other.client and not self.lock:
            return False
        return bool(self.names & other.names) and not (self.shared and other.shared)


def holds(history: Sequence[Operation], files: Mapping[str, Collection[str]]) -> list[Hold]:
    """All of them. `files` says which files a pattern names."""
    given_back: dict[str, float] = {}
    signs: dict[str, float] = {}
    for operation in history:
        if operation.what == "release":
            lease = operation.asked["lease"]
            given_back[lease] = min(operation.began, given_back.get(lease, math.inf))
        elif operation.what == "renew" and operation.ok:
            signs[operation.asked["lease"]] = operation.began + operation.asked["ttl"]
    found = []
    for operation in history:
        if operation.outcome != OK or operation.what not in ("acquire", "lock"):
            continue
        lease, asked = operation.told["lease"], operation.asked
        until = given_back.get(lease, math.inf)
        if operation.what == "lock":
            names = {f"lock {asked['name']}"}
            # The daemon reckons from when it grants or hears of it, which is not before it is asked. Who waited in line
            # may have been granted it long after it asked.
            until = min(until, max(operation.began + asked["ttl"], signs.get(lease, 0.0)))
        else:
            names = {name for pattern in asked["patterns"] for name in files[pattern]}
        found.append(
            Hold(
                client=operation.client,
                lease=lease,
                token=operation.told["token"],
                since=operation.ended,
                until=until,
                names=frozenset(names),
                shared=asked.get("shared", False),
                lock=operation.what == "lock",
            )
        )
    return found


def problems(
    history: Sequence[Operation], files: Mapping[str, Collection[str]], held_at_the_end: set[str]
) -> list[str]:
    """What is wrong, in words."""
    all_of_them = holds(history, files)
    return [
        *_double_grants(all_of_them),
        *_tokens(history),
        *_lost(history, all_of_them, held_at_the_end),
    ]


def _double_grants(all_of_them: Sequence[Hold]) -> list[str]:
    found = []
    # Who was told so late that its time was over already could be sure of nothing.
    certain = [hold for hold in all_of_them if hold.since < hold.until]
    for one, other in combinations(sorted(certain, key=lambda hold: hold.since), 2):
        if not one.is_in_the_way_of(other):
            continue
        if max(one.since, other.since) < min(one.until, other.until):
            both = sorted(one.names & other.names)
            found.append(f"{one.client} ({one.lease}) and {other.client} ({other.lease}) held {both} at once")
        elif (one.token < other.token) != (one.since < other.since) and one.until <= other.since:
            found.append(f"{other.lease} came after {one.lease} with a smaller token")
    return found


def _tokens(history: Sequence[Operation]) -> list[str]:
    granted = [one for one in history if one.ok and one.what in ("acquire", "lock", "claim")]
    tokens = [one.told["token"] for one in granted]
    found = [f"token {token} was given out more than once" for token in set(tokens) if tokens.count(token) > 1]
    by_end = sorted(granted, key=lambda one: one.ended)
    greatest, number = 0, 0
    for one in sorted(granted, key=lambda one: one.began):
        # The greatest token that somebody had been told before this one was asked for.
        while by_end[number].ended < one.began:
            greatest = max(greatest, by_end[number].told["token"])
            number += 1
        if one.told["token"] <= greatest:
            found.append(f"{one.client} got token {one.told['token']} after {greatest} had been given out")
    return found


def _lost(history: Sequence[Operation], all_of_them: Sequence[Hold], held_at_the_end: set[str]) -> list[str]:
    """Leases of agents that live are there until somebody gives them back."""
    gone = [
        f"{hold.lease} of {hold.client} is gone, and nobody gave it back"
        for hold in all_of_them
        if hold.until == math.inf and hold.lease not in held_at_the_end
    ]
    back = [
        f"{one.asked['lease']} was given back and is there again"
        for one in history
        if one.what == "release" and one.ok and one.asked["lease"] in held_at_the_end
    ]
    return gone + back
