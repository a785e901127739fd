"""Transcripts of coding agents on this host, found, read and watched. See `ports.transcripts.TranscriptFiles`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from corral.adapters.files import transcripts
from corral.adapters.files.watches import FileWatches
from corral.domain.conversations import Transcripts


class HostTranscripts:
    """Those of whoever runs this process."""

    def __init__(self) -> None:
        self._watches = FileWatches()

    def find(
        self, where: Transcripts, environment: Mapping[str, str], *, directory: str, since: float, session: str
    ) -> str:
        return transcripts.find(where, environment, directory=directory, since=since, session=session)

    def tail(self, path: str) -> list[bytes]:
        return transcripts.tail(path)

    def watch(self, path: str, changed: Callable[[bool], None]) -> Callable[[], None]:
        return self._watches.watch(path, changed)
