"""The order in which branches go into the target, which of them are tried together, and who is to blame if that fails.

First submitted, first tried. Several that wait are merged one upon the other and tested once, as a batch. If the test
fails, the batch is split: its first half is tried alone, then its second half, each upon what has gone in by then; and
so on, until one fails alone. Only that one goes back. What a half is, is written with each entry (`Merge.group`):
whoever comes after a crash goes on with the halves and not with the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.merge_records import CANCELLED, LANDING, MERGED, QUEUED, TESTING, Merge, name_of

#: Entries that may wait, and that are kept once they are at an end; the oldest of those go first.
MOST_WAITING, MOST_KEPT = 1_000, 100


class MergeQueue:
    """The queue of one team."""

    def __init__(self, merges: Iterable[Merge] = ()) -> None:
        self._merges = {merge.number: merge for merge in merges}

    def __iter__(self) -> Iterator[Merge]:
        """All of them: those at an end, the oldest first, then those in line."""
        return iter(sorted(self._merges.values(), key=lambda merge: (merge.is_on_the_way, merge.place)))

    def get(self, number: int) -> Merge:
        """The entry of that number, or `NotFoundError`."""
        try:
            return self._merges[number]
        except KeyError:
            raise NotFoundError(
                f"there is no merge {name_of(number)}", "corral merge ls --all shows those that there are"
            ) from None

    def line(self, repository: str = "") -> list[Merge]:
        """Those that are on the way, the first first; of all repositories, or of the one that is named."""
        found = (merge for merge in self._merges.values() if merge.is_on_the_way and merge.belongs_to(repository))
        return sorted(found, key=lambda merge: merge.place)

    def elsewhere(self, repository: str) -> list[Merge]:
        """Those that are on the way into another repository: nothing is done with them here."""
        return [merge for merge in self.line() if not merge.belongs_to(repository)]

    def waiting_of(self, branch: str, repository: str = "") -> Merge | None:
        """The entry of a branch of that repository that is on the way."""
        return next((merge for merge in self.line(repository) if merge.branch == branch), None)

    # Coming and going

    def submit(self, merge: Merge) -> list[Merge]:
        """Put it at the end of the line. What was forgotten to make room."""
        self._check_room()
        self._merges[merge.number] = merge
        return self._forget()

    def cancel(self, number: int, revision: int, time: float) -> Merge:
        """Take it out of the line, unless it is at an end or about to land."""
        merge = self.get(number)
        reason = ""
        if merge.state == LANDING:
            if not merge.waits:
                raise RefusedError(f"{merge.name} is just going into {merge.target}", "git revert undoes it afterwards")
            reason = f"it was about to go into {merge.target}: git log {merge.target} tells whether it did"
        if not merge.is_on_the_way:
            raise RefusedError(f"{merge.name} is {merge.state} already", "there is nothing to cancel")
        return self.change(number, revision, time, state=CANCELLED, step="", group=0, reason=reason)

    def retry(self, merge: Merge, revision: int, time: float) -> Merge:
        """Put one that is at an end into the line again, at its end, as it is given here."""
        self.check_retry(merge.number, merge.repository)
        self._check_room()
        self._merges[merge.number] = merge
        return self.change(
            merge.number, revision, time,
            place=revision, group=0, state=QUEUED, attempt=merge.attempt + 1,
            step="", reason="", remedy="", files=(), base="", commit="", batch=(), gates=(), told_to_wait=False,
        )  # fmt: skip

    def check_retry(self, number: int, repository: str = "") -> None:
        """Raise `RefusedError` for one that is in line, or in the target, or of another repository."""
        merge = self.get(number)
        if not merge.belongs_to(repository):
            raise RefusedError(
                f"{merge.name} is of another repository, {merge.repository}", "corral up there, then try it again"
            )
        if merge.is_on_the_way:
            raise RefusedError(f"{merge.name} is {merge.state}, and so on its way", "corral merge show tells how far")
        if merge.state == MERGED:
            raise RefusedError(f"{merge.name} is merged", "submit the branch again if there is more on it")
        other = self.waiting_of(merge.branch, repository)
        if other is not None:
            raise RefusedError(f"{other.name} of {merge.branch} is on its way", f"corral merge show {other.name}")

    # Trying

    def next_batch(self, most: int, repository: str = "") -> list[Merge]:
        """Those to be tried next, in their order: the rest of a group that failed together, or the first in line."""
        line = self.line(repository)
        if not line:
            return []
        group = line[0].group
        return [merge for merge in line if merge.group == group][:most]

    def split(self, numbers: Sequence[int], revision: int, time: float) -> list[Merge]:
        """A batch of several failed: its halves are tried by themselves. The entries as they are now."""
        half = (len(numbers) + 1) // 2
        return [
            self.change(
                number, revision, time,
                state=QUEUED, group=2 * revision + (at >= half), base="", commit="",
                step="its batch failed a gate, and is split",
            )
            for at, number in enumerate(numbers)
        ]  # fmt: skip

    def back(self, numbers: Iterable[int], revision: int, time: float, step: str) -> list[Merge]:
        """These were not tried to the end, through no fault of theirs: they are where they were in line."""
        return [
            self.change(number, revision, time, state=QUEUED, base="", commit="", step=step)
            for number in numbers
            if self._merges[number].state in (QUEUED, TESTING, LANDING)
        ]

    def change(self, number: int, revision: int, time: float, **facts: Any) -> Merge:
        """Have an entry be so from now on."""
        merge = self._merges[number] = replace(self._merges[number], revision=revision, changed_at=time, **facts)
        return merge

    def _check_room(self) -> None:
        if len(self.line()) >= MOST_WAITING:
            raise RefusedError(f"{MOST_WAITING} merges wait, and no more may", "wait for some, or cancel some")

    def _forget(self) -> list[Merge]:
        ended = sorted(
            (merge for merge in self._merges.values() if not merge.is_on_the_way), key=lambda merge: merge.revision
        )
        gone = ended[: max(0, len(ended) - MOST_KEPT)]
        for merge in gone:
            del self._merges[merge.number]
        return gone
