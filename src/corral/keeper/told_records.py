"""What the programs of one team say of what they do, in records that they write: transcripts and protocols.

A transcript is read when its file has changed, which the kernel tells. Before it is there it is looked for a few times
after somebody asked to follow it, and then not until somebody asks again. A protocol is read as it comes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from corral.agents import catalogue
from corral.agents.profile import Profile
from corral.background import Background
from corral.domain.activity import PROTOCOL, TRANSCRIPT
from corral.domain.conversations import Transcripts
from corral.domain.told_records import RecordRule, last_told
from corral.ports.conversations import TranscriptOrder
from corral.ports.reports import RecordsSaid, Report
from corral.ports.runs import Told
from corral.ports.transcripts import TranscriptFiles

log = logging.getLogger("corral.keeper")

#: Seconds before each look for a file that may be there in a moment.
_LOOKS = (0.0, 1.0, 2.0, 5.0, 10.0)
#: A file that has changed is read after so long: what comes with it is read with it.
_TOGETHER_SECONDS = 0.1
#: That it still does the same is told so often at most.
_STILL_SECONDS = 1.0
#: A longer line of a protocol is passed over.
_LONGEST_LINE = 1 << 20


@dataclass(slots=True)
class _Transcript:
    order: TranscriptOrder
    path: str = ""
    #: Ends the watch of the file.
    unwatch: Callable[[], None] | None = None
    #: Runs while it is looked for, or about to be read.
    task: asyncio.Task[None] | None = None
    #: It has changed since it was read.
    changed: bool = False


@dataclass(slots=True)
class _Protocol:
    agent: str
    rules: tuple[RecordRule, ...]
    #: The beginning of a line, and whether it is one that is passed over.
    line: bytearray = field(default_factory=bytearray)
    too_long: bool = False


class TeamRecords:
    """What is known of each run. `report` tells of what changes."""

    def __init__(
        self,
        team: str,
        files: TranscriptFiles,
        environment_of: Callable[[str], Mapping[str, str] | None],
        report: Callable[[Report], None],
    ) -> None:
        self._team = team
        self._files = files
        self._environment_of = environment_of
        self._report = report
        self._transcripts: dict[str, _Transcript] = {}
        #: Runs whose output was looked at; None if it has no protocol.
        self._protocols: dict[str, _Protocol | None] = {}
        self._told: dict[str, Told] = {}
        self._background = Background()

    def of(self, run: str) -> Told | None:
        """What a run said last; None if it has not said anything."""
        return self._told.get(run)

    def ended(self, run: str) -> None:
        """The run is over."""
        self._let_go(run)
        self._protocols.pop(run, None)
        self._told.pop(run, None)

    def close(self) -> None:
        """Look at nothing any more."""
        for run in list(self._transcripts):
            self._let_go(run)
        self._protocols.clear()
        self._told.clear()
        self._background.cancel()

    # Transcripts

    def follow(self, order: TranscriptOrder) -> None:
        """Look for the transcript of a run, and tell what it says from then on. Nothing happens if that is done."""
        known = self._transcripts.get(order.run)
        if known is not None and known.order == order and (known.path or known.task is not None):
            return
        where = _where(order)
        environment = self._environment_of(order.agent)
        if where is None or environment is None:  # after a reboot nobody knows where it keeps them
            return
        self._let_go(order.run)
        followed = self._transcripts[order.run] = _Transcript(order)
        followed.task = self._background.spawn(
            self._look(followed, where, environment), name=f"transcript of {order.agent}"
        )

    async def _look(self, followed: _Transcript, where: Transcripts, environment: Mapping[str, str]) -> None:
        order, path = followed.order, ""
        for pause in _LOOKS:
            await asyncio.sleep(pause)
            path = await asyncio.to_thread(
                self._files.find,
                where,
                environment,
                directory=order.directory,
                since=order.since,
                session=order.session,
            )
            if path:
                break
        followed.task = None
        if path:
            self._watch(followed, path)

    def _watch(self, followed: _Transcript, path: str) -> None:
        def changed(gone: bool) -> None:
            if gone:
                followed.path, followed.unwatch = "", None
            else:
                self._read_soon(followed)

        try:
            followed.unwatch = self._files.watch(path, changed)
        except OSError as error:
            log.info("%s cannot be watched: %s", path, error)
            return
        followed.path = path
        self._read_soon(followed)

    def _read_soon(self, followed: _Transcript) -> None:
        followed.changed = True
        if followed.task is None:
            followed.task = self._background.spawn(self._read(followed), name=f"read what {followed.order.agent} wrote")

    async def _read(self, followed: _Transcript) -> None:
        order = followed.order
        while followed.changed:
            await asyncio.sleep(_TOGETHER_SECONDS)
            followed.changed = False
            where = _where(order)
            lines = await asyncio.to_thread(self._files.tail, followed.path) if followed.path else []
            told = last_told(where.records, lines, time=where.time, since=order.since) if where is not None else None
            if told is not None and told.at is not None:
                self._say(order.agent, order.run, Told(activity=told.word, at=told.at, source=TRANSCRIPT))
        followed.task = None

    def _let_go(self, run: str) -> None:
        followed = self._transcripts.pop(run, None)
        if followed is None:
            return
        if followed.task is not None:
            followed.task.cancel()
        if followed.unwatch is not None:
            followed.unwatch()

    # Protocols

    def output(self, agent: str, run: str, data: bytes, profile_of: Callable[[], Profile | None]) -> None:
        """A run without a terminal wrote something."""
        if run not in self._protocols:
            profile = profile_of()
            rules = profile.protocol if profile is not None else ()
            self._protocols[run] = _Protocol(agent, rules) if rules else None
        protocol = self._protocols[run]
        if protocol is None:
            return
        *ends, rest = data.split(b"\n")
        lines = []
        for end in ends:
            line, whole = bytes(protocol.line) + end, not protocol.too_long
            protocol.line.clear()
            protocol.too_long = False
            if whole and len(line) <= _LONGEST_LINE:
                lines.append(line)
        if len(protocol.line) + len(rest) > _LONGEST_LINE:
            protocol.line.clear()
            protocol.too_long = True
        elif not protocol.too_long:
            protocol.line += rest
        told = last_told(protocol.rules, lines)
        if told is not None:
            self._say(agent, run, Told(activity=told.word, at=time.time(), source=PROTOCOL))

    def _say(self, agent: str, run: str, told: Told) -> None:
        known = self._told.get(run)
        if known is not None and known.source == PROTOCOL and told.source == TRANSCRIPT:
            return  # of two that say the same in their own words, one is enough
        if known is not None and known.activity == told.activity and told.at < known.at + _STILL_SECONDS:
            return
        self._told[run] = told
        self._report(RecordsSaid(team=self._team, agent=agent, run=run, told=told))


def _where(order: TranscriptOrder) -> Transcripts | None:
    """Where such transcripts are, and what they say; None if its profile does not tell, any more."""
    profile = catalogue.by_name(order.profile)
    where = profile.resume.transcripts if profile is not None and profile.resume is not None else None
    return where if where is not None and where.records else None
