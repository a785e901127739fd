"""A copy of a repository for agents of another user (ADR 32): whose it is, where it is, and how it follows. Pure.

Nobody but that user writes in the copy, and that user nowhere in the repository. What the owner has is in the copy
twice: as it was brought (`theirs/…`), and under its own name, for as long as nobody has changed it there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from corral.domain.records import Agent, Team
from corral.domain.repository import BRANCHES
from corral.domain.spec_model import WORKTREE

#: Beside the worktrees of its team. No agent can be called so.
COPY = ".corral-copy.git"
#: Below it is in a copy what the repository has, as it was brought.
THEIRS = "refs/corral/theirs/"
#: With more of them, telling of them all takes too long.
MOST_REFS = 200_000
#: What is brought.
_LENT = ("refs/heads/", "refs/tags/", "refs/remotes/")


@dataclass(frozen=True, slots=True)
class Move:
    """A ref that is to move: from one object to another; empty is none."""

    ref: str
    new: str
    old: str


def guest_of(team: Team, agent: Agent) -> str:
    """The user whose copy the agent's worktree is of; empty if it is of the repository itself."""
    return agent.run_as if agent.workspace_kind == WORKTREE and agent.run_as != team.user else ""


def copy_beside(workspace: str) -> str:
    """The copy that a worktree of a guest's is of."""
    return os.path.join(os.path.dirname(workspace), COPY)


def branch_of(team: str, agent: str) -> str:
    """The branch of an agent in the repository. Only its own instance's team has copies there."""
    return f"{BRANCHES}/{team}/{agent}"


def is_copy(directory: str) -> bool:
    """Whether this is the directory of a copy."""
    return os.path.basename(directory) == COPY


def lent(refs: Mapping[str, str]) -> dict[str, str]:
    """What of a repository's refs is brought into copies of it."""
    return {ref: commit for ref, commit in refs.items() if ref.startswith(_LENT)}


def brought(refs: Mapping[str, str]) -> dict[str, str]:
    """What a copy was brought before, out of all its refs."""
    return {f"refs/{ref.removeprefix(THEIRS)}": commit for ref, commit in refs.items() if ref.startswith(THEIRS)}


def followed(here: Mapping[str, str], there: Mapping[str, str], pinned: Collection[str]) -> list[list[Move]]:
    """What moves in a copy with the refs `here`, once it is brought what is `there`: one transaction after the other.

    A ref that somebody changed or deleted in the copy is left as they have it, and so is one that is `pinned`. One that
    cannot be beside those that stay is left out.
    """
    seen = brought(here)
    moves = [Move(ref, there.get(ref, ""), seen.get(ref, "")) for ref in sorted({*seen, *there})]
    moves = [move for move in moves if move.new != move.old]
    noted = [Move(THEIRS + move.ref.removeprefix("refs/"), move.new, move.old) for move in moves]
    shown = [move for move in moves if here.get(move.ref, "") == move.old and move.ref not in pinned]
    gone = [move for move in shown if not move.new]
    names = lent(here).keys() - {move.ref for move in gone}
    made = [move for move in shown if move.new and (move.old or _fits(move.ref, names))]
    # A ref takes the place of a directory of refs, or the other way round, only once that is gone.
    steps = [
        [move for move in noted if not move.new],
        [move for move in noted if move.new],
        gone,
        made,
    ]
    return [step for step in steps if step]


def _fits(ref: str, names: Iterable[str]) -> bool:
    """Whether a ref can be beside these: none of them is a directory of it, and it of none."""
    return not any(ref.startswith(f"{name}/") or name.startswith(f"{ref}/") for name in names)
