"""State and journal, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from corral.domain.records import Agent, Event, NewEvent, Team, Who


class Item(msgspec.Struct, frozen=True):
    """A record of any kind. What is in it is known to whoever put it there."""

    kind: str
    key: str
    value: bytes


class Entry(msgspec.Struct, frozen=True):
    """Something that others follow. Revisions only grow, and whoever writes the entry chooses its own."""

    revision: int
    team: str
    topic: str
    time: float
    value: bytes
    #: In whose share of the log it counts.
    person: str = ""


@dataclass(frozen=True, slots=True)
class LogSize:
    """A number of entries, and the bytes of their values."""

    entries: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest entries of a person in the log."""

    #: Of the last of them; 0 if there are none.
    revision: int
    size: LogSize
    #: By team, the revision of the last of them that is of that team.
    teams: Mapping[str, int]


# A struct, because every decision makes one: that takes a tenth of the time of a dataclass that is frozen.
class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody does at one moment: records put or dropped, and the events that tell of it."""

    who: Who
    time: float
    put_teams: Sequence[Team] = ()
    drop_teams: Sequence[str] = ()
    put_agents: Sequence[Agent] = ()
    drop_agents: Sequence[tuple[str, str]] = ()
    events: Sequence[NewEvent] = ()
    put_items: Sequence[Item] = ()
    #: By kind and key.
    drop_items: Sequence[tuple[str, str]] = ()
    log: Sequence[Entry] = ()
    #: Of these persons, entries up to these revisions are wanted no more.
    trim_log: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that is known, at one moment."""

    teams: list[Team]
    agents: list[Agent]


class Store(Protocol):
    """Owned by one daemon. A commit that returned is on the disk; one that raised changed nothing."""

    #: Names the instance for good; made with the store.
    instance: str
    #: Secret of the instance, for keyed hashes.
    salt: bytes

    async def load(self) -> Snapshot:
        """All teams and agents."""

    async def commit(self, *changes: Change) -> None:
        """Do all of them, one after the other, or nothing."""

    async def items(self, kind: str) -> list[Item]:
        """All of a kind, in the order of their keys."""

    async def log(self, *, after: int, team: str = "", topic: str = "", limit: int = 1000) -> list[Entry]:
        """At most so many entries after a revision, in order; of a team and a topic only, if they are given."""

    async def log_sizes(self) -> dict[str, LogSize]:
        """How much is in the log, by person."""

    async def oldest_in_log(self, person: str, size: LogSize) -> Oldest:
        """The fewest of a person's entries, the oldest first, that are so many, and have so many bytes; all of them if
        these are less.
        """

    async def events(
        self,
        *,
        after: int | None = None,
        before: int | None = None,
        since: float | None = None,
        team: str = "",
        agent: str = "",
        named: Sequence[str] = (),
        realm: tuple[str, str] | None = None,
        last: int | None = None,
        limit: int = 1000,
    ) -> list[Event]:
        """Events in order: those after a sequence number, before one, or with `last` the newest ones of them.

        With a `realm`, and a team, only those whose data names that realm, or that are the team's and name none. Others
        are not decoded.

        `named` are patterns for the names of the events, of which one must fit: `agent.*`, `inbox.answered`.
        """

    async def newest_besides(self, hidden: Collection[tuple[str, str]], before: int) -> int:
        """A number before which the search for events of others than these teams and agents can begin.

        All events between it and `before` are of these. 0 if there are no others.
        """

    async def close(self) -> None:
        """Let go of the store."""
