"""What is left of a team on a host, and who is in the way there."""

from __future__ import annotations

from typing import Protocol

import msgspec

from corral.ports.record import Record


class Residue(Record, frozen=True, omit_defaults=False):
    """One thing that is left, with what a person needs to deal with it."""

    kind: str
    name: str
    pid: int | None = None
    command: str = ""
    why: str = ""


class Check(Record, frozen=True, omit_defaults=False):
    """One line of the census: what was looked for, how many were found, and each of them."""

    what: str
    #: None: it could not be counted, and what is in `residue` says why.
    found: int | None
    residue: list[Residue] = msgspec.field(default_factory=list)


class Bystander(Record, frozen=True, omit_defaults=False):
    """A process that is not the team's and lives in one of its workspaces."""

    pid: int
    command: str
    #: The workspace.
    directory: str


class Counting(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def bystanders(self, team: str, directories: list[str], asking: int) -> list[Bystander]:
        """Processes that are not the team's and have one of these directories as their working directory.

        Not the process that asks, nor the shell it was asked from.
        """

    async def census(self, team: str) -> list[Check]:
        """Look for what is left of the team by means that do not rely on what the keeper remembers.

        Except for ports: which were the team's is noted by `take_down`, because nothing says so afterwards.
        """
