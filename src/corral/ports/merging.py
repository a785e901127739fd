"""What a keeper does for a merge queue: git work beside every working tree, and gates in a workspace of their own.

It decides nothing. A merge is computed in git's objects alone; the target moves in `merge_land` and nowhere else, from
a commit that is named to a commit that is named.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from corral.domain.limits import NO_LIMITS, Limits
from corral.ports.record import Record

#: In the place of an agent's name, for what runs for the merge queue. No agent can be called so.
GATES = "_merge"
#: How processes that are gates are called. They are no commands of an agent.
GATE_PREFIX = "gate-"

#: What became of one branch in a build: its merge is a commit; it conflicts with the target itself, or only with what
#: would go in before it; the target has it already; there is nothing that both have come from; its commit is gone.
Merged = Literal["clean", "conflict", "later", "already", "unrelated", "missing"]
#: The target is at the new commit; it was moved by somebody else; somebody's working tree is in the way.
Landed = Literal["landed", "moved", "busy"]


class Submission(Record, frozen=True):
    """A branch as it is now."""

    branch: str
    tip: str
    #: The first line of what its last commit says.
    subject: str
    #: Where the target is.
    target: str
    #: The target has all of it.
    already: bool = False
    #: What it changes since it left the target; a submodule is its path, and with a slash everything below.
    paths: list[bytes] = msgspec.field(default_factory=list)
    too_many: bool = False
    #: Files that were changed where it is checked out, and are in no commit.
    uncommitted: int = 0
    #: Names are the same here whatever their case.
    ignore_case: bool = False


class Piece(Record, frozen=True):
    """One branch that is to be merged."""

    name: str
    tip: str
    #: Of the merge commit.
    message: str
    #: Whose name the merge has, if git knows none.
    person: str


class MergeStep(Record, frozen=True):
    """What became of one of them."""

    name: str
    outcome: Merged
    #: The merge commit; empty unless it is clean.
    commit: str = ""
    #: The tree of that commit: the same again is the same files.
    tree: str = ""
    #: What it changes.
    paths: list[bytes] = msgspec.field(default_factory=list)
    #: It changes more than can be told one by one.
    too_many: bool = False
    #: Files that are in conflict.
    files: list[bytes] = msgspec.field(default_factory=list)


class Build(Record, frozen=True):
    """Branches merged upon a target, each upon the one before. Nothing names these commits yet."""

    #: Where the target was.
    base: str
    #: In the order in which they were given. It ends with the first that conflicts with one before it.
    steps: list[MergeStep]
    #: Why the target could not be moved now; empty if it could.
    busy: str = ""
    #: Names are the same here whatever their case.
    ignore_case: bool = False


class Landing(Record, frozen=True):
    """What came of moving the target."""

    outcome: Landed
    why: str = ""


class GateOrder(Record, frozen=True):
    """A gate to run."""

    #: An order that arrives twice starts one.
    gate: str
    command: str
    directory: str
    #: Agents whose environment may be taken, and names in each that their team declared for them alone.
    like: dict[str, list[str]]
    #: Variables besides.
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    #: As for agents: whether it is contained, and what its team may use.
    systemd: str = "auto"
    team_limits: Limits = NO_LIMITS
    #: Its whole standard input.
    input: bytes = b""


class GateSeen(Record, frozen=True):
    """A gate as it is now."""

    running: bool
    #: As a shell tells it; None while it runs, or if nobody saw how it ended.
    code: int | None = None
    #: The end of what it wrote, and how much there was before that.
    output: bytes = b""
    omitted: int = 0
    #: What it started and left.
    left: int = 0


class MergeGit(Protocol):
    """The git work of it, on one host; see `Merging` for each."""

    async def look(self, *, repo: str, directory: str, branch: str, target: str | None) -> Submission:
        """See `merge_look`."""

    async def build(self, *, repo: str, target: str, pieces: list[Piece]) -> Build:
        """See `merge_build`."""

    async def checkout(self, *, team: str, repo: str, commit: str) -> str:
        """See `merge_checkout`."""

    async def clear(self, *, team: str, repo: str) -> list[str]:
        """See `merge_clear`; nothing runs there any more."""

    async def land(self, *, repo: str, target: str, old: str, new: str) -> Landing:
        """See `merge_land`."""


class Merging(Protocol):
    """The verbs. Every call may raise `UnavailableError`: then the outcome is unknown, and asking again is no harm."""

    async def merge_look(self, *, repo: str, directory: str, branch: str, target: str | None) -> Submission:
        """The branch of that name; with an empty one, the branch that is checked out in `directory`.

        Raises `NotFoundError` for what is no branch, and `RefusedError` for one that can never be merged.
        Without a target it is looked at alone: neither what it changes is told, nor whether it could go anywhere.
        """

    async def merge_build(self, *, repo: str, target: str, pieces: list[Piece]) -> Build:
        """Merge the pieces upon the target, in their order, without touching a ref or a working tree."""

    async def merge_checkout(self, *, team: str, repo: str, commit: str) -> str:
        """A workspace that has this commit, and nothing else; its path."""

    async def merge_clear(self, *, team: str, repo: str) -> list[str]:
        """End every gate of the team with all that it started, and remove the workspaces; what could not be."""

    async def merge_land(self, *, repo: str, target: str, old: str, new: str) -> Landing:
        """Move the target from `old` to `new`, and a clean working tree that has it checked out along with it.

        `landed` also if the target has `new` already: asked twice, it is done once. `moved` if the target is not at
        `old` any more, or gone, or if there is no `new`.
        """

    async def start_gate(self, team: str, order: GateOrder) -> None:
        """Start a gate, contained like an agent. Idempotent by its name."""

    async def wait_gate(self, team: str, gate: str, *, wait: float, limit: int) -> GateSeen:
        """The gate once it has ended, or so many seconds are over; with at most `limit` bytes of its output."""
