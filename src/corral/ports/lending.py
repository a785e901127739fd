"""A person's repository and the copies of it that users of agents work in (ADR 32).

The keeper of each works in its own. What one has and the other has not goes between them as a pack, in pieces, by way
of the daemon.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import msgspec

from corral.ports.record import Record

#: A pack goes in pieces of so many bytes.
PIECE_BYTES = 1 << 20


class Refs(Record, frozen=True):
    """What a repository has."""

    #: All refs that are none of another, by their whole names.
    refs: dict[str, str] = msgspec.field(default_factory=dict)
    #: The ref that HEAD names, or the commit if it names none.
    head: str = ""
    #: Commits whose parents it does not have.
    shallow: list[str] = msgspec.field(default_factory=list)
    #: The directory that git keeps it in, as it really is.
    common: str = ""
    #: "sha1" or "sha256".
    object_format: str = "sha1"


class BranchPut(Record, frozen=True):
    """What became of a branch that was handed in."""

    #: It was there already if not.
    moved: bool = False
    #: Where it was; empty if there was none.
    before: str = ""


class LendingGit(Protocol):
    """The git work of it, on one host; see `Lending` for each."""

    async def refs(self, directory: str) -> Refs:
        """See `Lending.refs`."""

    async def make_copy(self, copy: str, of: str, object_format: str) -> None:
        """See `Lending.make_copy`."""

    async def follow(self, copy: str, team: str, there: Refs, pack: str) -> None:
        """See `Lending.follow`."""

    async def hand_in(self, repo: str, team: str, agent: str, tip: str, pack: str, by: str) -> BranchPut:
        """See `Lending.hand_in`."""

    async def settle_branch(self, repo: str, team: str, agent: str, *, discard: bool) -> None:
        """See `Lending.settle_branch`."""

    async def watch(self, team: str, directory: str, moved: Callable[[], None]) -> None:
        """Have `moved` called whenever a branch moves there, in place of what was watched for the team before."""

    def watch_no_more(self, team: str) -> None:
        """The team is taken down."""

    async def send_pack(self, directory: str, want: Sequence[str], have: Collection[str]) -> str:
        """See `Lending.send_pack`."""

    async def read_pack(self, pack: str) -> bytes:
        """See `Lending.read_pack`."""

    async def receive_pack(self, directory: str, *, apart: bool) -> str:
        """See `Lending.receive_pack`."""

    async def write_pack(self, pack: str, data: bytes) -> None:
        """See `Lending.write_pack`."""

    async def drop_pack(self, pack: str) -> None:
        """See `Lending.drop_pack`."""


class Lending(Protocol):
    """A part of `ports.keeper.Keeper`. What is said of a pack that is not under way is a `NotFoundError`."""

    async def refs(self, directory: str) -> Refs:
        """What the repository at `directory` has."""

    async def make_copy(self, *, copy: str, of: str, object_format: str) -> None:
        """Have a copy there of the repository with the git directory `of`, if only an empty one.

        `RefusedError` if there is one of another repository, with work in it.
        """

    async def follow(self, *, copy: str, team: str, there: Refs, pack: str) -> None:
        """Have the copy be as the repository is, after the pack that was received for it, if one is named.

        What somebody has changed in the copy stays as they have it.
        """

    async def hand_in(self, *, repo: str, team: str, agent: str, tip: str, pack: str, by: str) -> BranchPut:
        """Have the branch of an agent be at this commit of the user `by`, which came in the pack, if one is named.

        `RefusedError` for a commit that is not whole, and if there are commits on the branch that somebody else made.
        """

    async def settle_branch(self, *, team: str, agent: str, repo: str, discard: bool) -> None:
        """The agent's worktree of a copy is gone. So is its branch, if no work is lost by it or `discard` says so."""

    async def watch_branches(self, *, team: str, directory: str) -> None:
        """Report `BranchesMoved` of the team whenever a branch moves there, until the team is taken down."""

    async def send_pack(self, *, directory: str, want: list[str], have: list[str]) -> str:
        """Begin a pack of what these need that is not in those. What is not known of `have` is no matter."""

    async def read_pack(self, pack: str) -> bytes:
        """The next piece of it; none at the end, and then it is forgotten."""

    async def receive_pack(self, *, directory: str, apart: bool) -> str:
        """Begin to take a pack in: into the repository, or `apart` from it until `hand_in` says that it may come in."""

    async def write_pack(self, pack: str, data: bytes) -> None:
        """The next piece of it."""

    async def drop_pack(self, pack: str) -> None:
        """Forget a pack that is under way, in whichever direction; also one that is not."""
