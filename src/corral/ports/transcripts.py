"""What a keeper asks of the files in which a program keeps its conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from corral.domain.conversations import Transcripts


class TranscriptFiles(Protocol):
    """Finds, reads and watches them. Changes nothing."""

    def find(
        self, where: Transcripts, environment: Mapping[str, str], *, directory: str, since: float, session: str
    ) -> str:
        """The file of that conversation, if it was written to since then; without an id, the newest of the directory.

        Empty if there is none. May take long: there may be thousands.
        """

    def tail(self, path: str) -> list[bytes]:
        """The last lines of a file, of which the first may be cut off; none if it cannot be read."""

    def watch(self, path: str, changed: Callable[[bool], None]) -> Callable[[], None]:
        """Have `changed` called when the file changes, with True once it is gone. What is returned ends that.

        OSError if it cannot be watched.
        """
