"""Merges that wait: for a person whose work is in the way, for a keeper, or for the next try."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from corral.domain.errors import CorralError
from corral.domain.foreign_words import own_remedy, told_error
from corral.domain.merge_records import LANDING, QUEUED, WAITS, Merge
from corral.domain.records import SUPERVISOR
from corral.service.merge_book import MergeBook
from corral.service.merge_letters import MergeLetters

log = logging.getLogger("corral.daemon")

#: After so many seconds it is tried again what could not be done: somebody's working tree was in the way, or no keeper
#: answered.
AGAIN_SECONDS = 5.0


class MergeWaits:
    """Writes down why nothing happens, and tells whose merges they are."""

    def __init__(self, book: MergeBook, letters: MergeLetters, now: Callable[[], float]) -> None:
        self._book = book
        self._letters = letters
        self._now = now

    async def say_why(self, team: str, line: Sequence[Merge], error: CorralError) -> None:
        """Have the first in line tell why nothing happens, and those that are about to land with it."""
        step = f"{WAITS}{'; '.join(filter(None, (told_error(error), own_remedy(error))))}"[:500]
        told = [merge.number for merge in line if merge is line[0] or merge.state == LANDING]
        if any(merge.step != step for merge in line if merge.number in told):
            try:
                await self._book.decide(
                    team,
                    lambda queue, revision, now: [
                        queue.change(number, revision, now, step=step)
                        for number in told
                        if queue.get(number).is_on_the_way
                    ],
                    "",
                )
            except CorralError as worse:
                log.warning("that cannot be written either: %s", worse.message)

    async def wait(self, team: str, numbers: Sequence[int], why: str) -> bool:
        """Nothing can be done now. Whose it is gets one message, unless it is over in a moment."""
        merges = [self._book.queue(team).get(number) for number in numbers]
        if any(merge.step != f"{WAITS}{why}" or merge.state != QUEUED for merge in merges):
            await self.back(team, numbers, f"{WAITS}{why}", event="merge.waiting")
            return False
        since = self._now() - AGAIN_SECONDS / 2
        untold = [merge for merge in merges if not merge.told_to_wait and merge.changed_at <= since]
        for merge in untold:
            await self._letters.waits(merge, why)
        if untold:
            await self._book.decide(
                team,
                lambda queue, revision, now: [
                    queue.change(merge.number, revision, now, told_to_wait=True)
                    for merge in untold
                    if queue.get(merge.number).is_on_the_way
                ],
                "",
            )
        return False

    async def back(self, team: str, numbers: Sequence[int], step: str, event: str = "") -> None:
        """These were not tried to the end, through no fault of theirs, and are in line as before; `step` says why."""
        await self._book.decide(
            team,
            lambda queue, revision, now: queue.back(numbers, revision, now, step),
            event,
            who=SUPERVISOR,
            data={"why": step} if event else None,
        )
