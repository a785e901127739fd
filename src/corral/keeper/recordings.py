"""Recordings of a team's terminals, from the output that the keeper gets anyway.

On the way of output nothing is copied and nothing is written: the pieces are kept as they are, and made into events
and written together now and then. A disk that takes nothing is told of once, and harms nobody.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from corral.background import Background
from corral.domain.errors import CorralError
from corral.ports.casts import Cast, Casts, OpenCasts, RecordingOrder, RecordingPiece, RecordingShown
from corral.ports.sessions import Picture

_FLUSH_SECONDS = 1.0
#: … and no later than when so much has come.
_FLUSH_BYTES = 1 << 20
#: Seconds between two looks for recordings that are too old.
_SWEEP_SECONDS = 3600.0
#: What is kept is thrown away by whole files: one has at most this part of the time, and of the bytes (`Casts`).
_FILES_KEPT = 4
#: What a terminal has until somebody says otherwise; see `adapters.tmux.runtime`.
_SIZE = (200, 50)


@dataclass(slots=True)
class _Open:
    """A recording that is being written."""

    agent: str
    cast: Cast
    began: float
    failing: bool = False


class TeamRecordings:
    """The recordings of one team, by run."""

    def __init__(
        self,
        team: str,
        casts: OpenCasts,
        secrets_of: Callable[[str], Mapping[str, str]],
        picture: Callable[[str], Awaitable[Picture]],
        on_trouble: Callable[[str, str], None],
    ) -> None:
        self._team = team
        self._casts = casts
        self._secrets_of = secrets_of
        self._picture = picture
        self._on_trouble = on_trouble
        self._order = RecordingOrder()
        self._open: dict[str, _Open] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        #: Runs whose output this keeper has had from the beginning: their first recording needs no picture in front.
        self._fresh: set[str] = set()
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._swept = time.time()
        self._background = Background()

    @property
    def on(self) -> bool:
        """True while something is recorded."""
        return self._order.on

    def configure(self, order: RecordingOrder) -> None:
        """See `Recordings.record`."""
        before = self._order
        if before.on and not order.on:
            for run in list(self._open):  # as was said when it was recorded
                self._end(run)
        self._order = order
        self._flush()
        for run, opened in list(self._open.items()):
            if opened.cast.limit(order.max_size):
                self._follow(run, opened)
        # Also what is not recorded any more has an age.
        for agent in {**before.masked, **order.masked}:
            self._sweep(self._casts(self._team, agent), agent)

    def started(self, run: str) -> None:
        """A run begins now."""
        self._fresh.add(run)

    def output(self, agent: str, run: str, at: float, data: bytes) -> None:
        """A terminal showed something."""
        if not self._order.on:
            return
        opened = self._open.get(run) or self._begin(agent, run, at, self._sizes.get(run, _SIZE))
        opened.cast.output(at, data)
        self._waiting += len(data)
        if self._waiting >= _FLUSH_BYTES:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._flush)

    def resized(self, run: str, columns: int, rows: int) -> None:
        """A terminal has another size."""
        self._sizes[run] = (columns, rows)
        if opened := self._open.get(run):
            opened.cast.resized(time.time(), columns, rows)

    def marked(self, run: str, text: str) -> None:
        """Something happened at a terminal that is worth finding again."""
        if opened := self._open.get(run):
            opened.cast.marked(time.time(), text)

    def ended(self, run: str) -> None:
        """A run is over, or its terminal gone."""
        self._end(run)
        self._fresh.discard(run)
        self._sizes.pop(run, None)

    def listed(self, agent: str) -> list[RecordingShown]:
        """See `Recordings.recordings`."""
        self._flush()
        casts = self._casts(self._team, agent)
        self._sweep(casts, agent)
        return casts.listed()

    def read(self, agent: str, recording: str, after: int) -> RecordingPiece:
        """See `Recordings.read_recording`."""
        if not after:
            self._flush()
        return RecordingPiece(data=self._casts(self._team, agent).read(recording, after))

    def close(self) -> None:
        """Write the rest of everything."""
        for run in list(self._open):
            self._end(run)
        self._background.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self, agent: str, run: str, at: float, size: tuple[int, int]) -> _Open:
        casts = self._casts(self._team, agent)
        cast = casts.begin(
            run=run,
            at=at,
            size=size,
            secrets=self._secrets_of(agent),
            max_size=self._order.max_size,
        )
        opened = self._open[run] = _Open(agent, cast, at)
        # A quarter is left for this one to grow into.
        self._sweep(casts, agent, room=self._order.max_size // 4)
        if run in self._fresh:
            self._fresh.discard(run)
        else:
            self._background.spawn(self._paint(run, opened), name=f"paint the beginning of a recording of {agent}")
        return opened

    async def _paint(self, run: str, opened: _Open) -> None:
        """Have a recording begin with what was there already: what comes is painted over that."""
        if self._open.get(run) is not opened:
            return  # it is full, with what came in between
        try:
            picture = await self._picture(run)
        except CorralError:
            return  # the terminal is gone
        if self._open.get(run) is opened:
            now = time.time()
            if (picture.columns, picture.rows) != self._sizes.get(run, _SIZE):
                self._sizes[run] = (picture.columns, picture.rows)
                opened.cast.resized(now, picture.columns, picture.rows)
            opened.cast.output(now, picture.data)

    def _flush(self) -> None:
        self._waiting = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for run in list(self._open):
            self._write_out(run)
            opened, oldest = self._open[run], time.time() - self._order.keep / _FILES_KEPT
            if self._order.keep and opened.began < oldest:
                self._follow(run, opened)
        if time.time() - self._swept > _SWEEP_SECONDS:
            self._swept = time.time()
            for agent in {opened.agent for opened in self._open.values()}:
                self._sweep(self._casts(self._team, agent), agent)

    def _write_out(self, run: str) -> None:
        """Write what was taken, in as many files as that fills: what is kept is thrown away by whole files."""
        opened = self._open[run]
        self._write(opened, opened.cast.flush)
        while opened.cast.full:
            opened = self._follow(run, opened)

    def _follow(self, run: str, opened: _Open) -> _Open:
        """Begin the next file of a recording, with what there was no place for."""
        # A secret may be under way: its halves must not be shown in one file each.
        rest = opened.cast.take_rest()
        self._close(run)
        at = rest.events[0][0] if rest.events else time.time()
        # Files are sorted by their beginnings, in milliseconds.
        following = self._begin(opened.agent, run, max(at, opened.began + 0.002), rest.size)
        following.cast.carry_on(rest)
        self._write(following, following.cast.flush)
        return following

    def _end(self, run: str) -> None:
        if run in self._open:
            self._write_out(run)
            self._close(run)

    def _close(self, run: str) -> None:
        opened = self._open.pop(run)
        self._write(opened, opened.cast.close)

    def _write(self, opened: _Open, do: Callable[[], None]) -> None:
        try:
            do()
        except OSError as error:
            if not opened.failing:
                opened.failing = True
                self._on_trouble(opened.agent, f"its terminal is not recorded: {error.strerror}")
            return
        opened.failing = False

    def _sweep(self, casts: Casts, agent: str, room: int = 0) -> None:
        if self._order.max_size:
            spare = next((one.cast.id for one in self._open.values() if one.agent == agent), "")
            limit = self._order.max_size - room
            casts.sweep(older_than=time.time() - self._order.keep, max_size=limit, spare=spare)
