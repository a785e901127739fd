"""Being told when a branch or a tag of a repository moves, or what it knows of the branches of others, and when another
branch is checked out: one that somebody has checked out is not moved.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable

from corral.adapters.files.watches import FileWatches

log = logging.getLogger("corral.keeper")

#: One command moves many things: it is told of once, so many seconds after the first.
_TOGETHER = 0.1
#: What is watched below `refs`, the first of it before all else.
_WATCHED = ("heads", "tags", "remotes")
#: A repository with more directories of branches is not watched in all of them.
_MOST = 2000


class RefWatch:
    """Tells when something changes where a repository has these. Of nothing but that anything did."""

    def __init__(self, watches: FileWatches, common: str, moved: Callable[[], None]) -> None:
        """Begins at once; `OSError` if nothing can be watched there."""
        self._watches = watches
        self._common = common
        tables = os.path.join(common, "reftable")
        self._top = tables if os.path.isdir(tables) else os.path.join(common, "refs")
        self._moved = moved
        self._ends: dict[str, Callable[[], None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        #: That not all of it is watched was said.
        self._told = False
        try:
            self._look()
        except OSError:
            self.end()  # nothing of it stays
            raise

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for end in self._ends.values():
            end()
        self._ends.clear()

    def _look(self) -> None:
        """Watch every directory of them that is there by now, and what is checked out before all else."""
        self._look_at_checkouts()
        for directory, names, _ in os.walk(self._top):
            if directory == self._top:
                names[:] = [name for name in _WATCHED if name in names]
            if len(self._ends) >= _MOST:
                if not self._told:
                    log.warning("of %s not every directory is watched: there are too many", self._top)
                    self._told = True
                return
            if directory not in self._ends:
                try:
                    self._ends[directory] = self._watches.watch_directory(directory, self._changed(directory))
                except FileNotFoundError:
                    names.clear()  # it went as we came
        if self._top not in self._ends:
            raise FileNotFoundError(2, "there is no such directory", self._top)

    def _look_at_checkouts(self) -> None:
        """Watch which branch is checked out where, by the logs of it, and whether a worktree comes or goes."""
        worktrees = os.path.join(self._common, "worktrees")
        with contextlib.suppress(FileNotFoundError):
            if worktrees not in self._ends:
                self._ends[worktrees] = self._watches.watch_directory(worktrees, self._changed(worktrees))
        for directory in (self._common, *_below(worktrees)):
            log_of_head = os.path.join(directory, "logs", "HEAD")
            if len(self._ends) < _MOST and log_of_head not in self._ends:
                with contextlib.suppress(FileNotFoundError):
                    self._ends[log_of_head] = self._watches.watch(log_of_head, self._changed(log_of_head))

    def _changed(self, directory: str) -> Callable[[bool], None]:
        def changed(gone: bool) -> None:
            if gone:
                self._ends.pop(directory, None)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_TOGETHER, self._tell)

        return changed

    def _tell(self) -> None:
        self._timer = None
        try:
            self._look()
        except OSError as error:
            log.warning("the branches in %s are not watched any more: %s", self._top, error.strerror)
        self._moved()


def _below(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory)]
    except FileNotFoundError:
        return []
