"""What the work of a merge queue passes on: branches that are tested together, and a queue at rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain.merge_records import Merge
from corral.ports.merging import MergeStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Branches that are merged one upon the other, and tested together."""

    base: str
    merges: Sequence[Merge]
    steps: Sequence[MergeStep]
    #: Names are the same in this repository whatever their case.
    ignore_case: bool = False

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(merge.number for merge in self.merges)

    @property
    def commit(self) -> str:
        return self.steps[-1].commit

    @property
    def tree(self) -> str:
        return self.steps[-1].tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """A queue of which nothing is done."""

    #: Those that wait in line, by name and branch.
    waiting: Sequence[str]
    #: What of a gate, or of the workspace of one, would not go, in words.
    left: Sequence[str]
