"""Which contents of which files a session knows, and so whether it may write one without undoing somebody's work.

A *stamp* stands for the contents of a file; an empty one means that there is no file. A session knows the contents that
it read or wrote last. It may write a file whose stamp is still that one, and a file of which nothing is noted, unless
another session wrote it: then nobody would notice that both made a file of that name.

What is noted of a reading is the stamp from *before* it: a change that comes in between is taken for one that was not
seen, never the other way round. While one session writes a file, no other may begin to. That ends with the tool, with
the turn, or after a time, because an agent may be killed in the middle; it is not kept over a restart, for the same
reason.
A session that writes a file, and has not said that it is done, may begin once more if the file is still what it knows:
the tool may never have run, and somebody without hooks may have changed the file meanwhile. If the session's own first
writing has landed and was not told of yet, that looks the same. Then it is refused too: to read the file again costs
little, and to take somebody's change for one's own loses it. So it is with a writing of which no end was told: if the
file is not what it was, whose contents these are is not known, and all have to read them, the session as well.

All of it is bounded. What goes first is what was noted first, and of what is not noted nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")

#: Notes of one session, and of all together that are kept in one place.
MOST_OF_ONE, MOST_NOTES = 5_000, 50_000
#: Readings and writings that are under way at once, and how long one is believed to be.
MOST_UNDER_WAY, UNDER_WAY_SECONDS = 10_000, 30.0

#: Stands for contents that a session may have written, and nobody knows: no file has this stamp.
UNSURE = "?"

#: Why a file may not be written.
CHANGED, GONE, UNSEEN, BEING_WRITTEN = "changed", "gone", "unseen", "being_written"


@dataclass(frozen=True, slots=True, order=True)
class Session:
    """Whose knowledge it is: an agent (TEAM/AGENT) or a person, and a conversation of theirs."""

    party: str
    name: str


@dataclass(frozen=True, slots=True)
class Note:
    """What a session knows of a file."""

    stamp: str
    #: Unix seconds.
    time: float
    #: It wrote these contents itself.
    wrote: bool


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a session may not write a file now."""

    why: str
    #: Who wrote it last, or writes it now, as far as it is known; empty if it is not.
    by: str = ""
    #: When that was, or when this session knew it last, in unix seconds.
    time: float = 0.0


Key = tuple[Session, str]


class FileNotes:
    """The notes of all sessions. `now` is of a clock that only goes on; `time` is unix time."""

    def __init__(self, notes: Iterable[tuple[Session, str, Note]] = ()) -> None:
        #: The oldest first.
        self._notes: dict[Key, Note] = {}
        self._of: dict[Session, dict[str, None]] = {}
        #: Path → who wrote it last.
        self._writers: dict[str, Session] = {}
        self._reading: dict[Key, tuple[str, float]] = {}
        #: Path → who writes it, what it was before, and until when that is believed.
        self._writing: dict[str, tuple[tuple[Session, str], float]] = {}
        for session, path, note in sorted(notes, key=lambda known: known[2].time):
            self._put(session, path, note)

    def known(self, session: Session, path: str) -> Note | None:
        """What the session knows of the file."""
        return self._notes.get((session, path))

    # Writing

    def being_written(self, now: float) -> dict[str, Session]:
        """The files that are written at this moment, and by whom. To be taken before the files are looked at."""
        return {path: session for path, ((session, _), until) in self._writing.items() if until > now}

    def objection(self, session: Session, path: str, stamp: str, busy: Mapping[str, Session]) -> Objection | None:
        """Why the session may not write the file, whose stamp is this; None if it may.

        `busy` is what was `being_written` when the stamp was taken: somebody may have ended since.
        """
        if path in busy and busy[path] != session:
            return Objection(BEING_WRITTEN, busy[path].party)
        known, writer = self.known(session, path), self._writers.get(path)
        last = self._notes[writer, path] if writer is not None and writer != session else None
        by, when = (writer.party, last.time) if writer is not None and last is not None else ("", 0.0)
        if known is None:
            # What it wrote itself in an earlier conversation is no surprise.
            return Objection(UNSEEN, by, when) if by and by != session.party and stamp else None
        if known.stamp == stamp:
            return None
        return Objection(CHANGED if stamp else GONE, by, when or known.time)

    def begin_writing(self, session: Session, path: str, stamp: str, now: float) -> None:
        """From now on nobody else may begin. The file is about to be written, and this is its stamp before that."""
        self._make_room(self._writing, now)
        self._writing[path] = ((session, stamp), now + UNDER_WAY_SECONDS)

    def wrote(self, session: Session, path: str, stamp: str, time: float) -> list[Key]:
        """These contents are its own. What had to be forgotten for it."""
        self._end_writing(session, path)
        return self._put(session, path, Note(stamp, time, wrote=True))

    def failed(self, session: Session, path: str) -> None:
        """What was begun did not happen, or nobody knows whether."""
        self._end_writing(session, path)
        self._reading.pop((session, path), None)

    def unfinished(self, session: Session, now: float) -> list[str]:
        """The files that it began to write, has not said to be done with, and nobody else can have begun since."""
        return [path for path, busy in self._writing.items() if busy[0][0] == session and busy[1] > now]

    def left(self, session: Session, path: str, stamp: str, time: float) -> list[Key]:
        """Of a writing that it began no more will be heard, and this is the stamp now. What had to be forgotten for it.

        If it is what it was before, nothing happened. Else the session wrote it, or somebody else, and nobody knows:
        others have to read it before they write it, and so has the session.
        """
        busy = self._writing.pop(path, None)
        if busy is None or busy[0] == (session, stamp):
            return []
        return self._put(session, path, Note(UNSURE, time, wrote=True))

    def over(self, session: Session) -> None:
        """Nothing of this session is under way any more."""
        self._writing = {path: busy for path, busy in self._writing.items() if busy[0][0] != session}
        self._reading = {key: begun for key, begun in self._reading.items() if key[0] != session}

    def _end_writing(self, session: Session, path: str) -> None:
        busy = self._writing.get(path)
        if busy is not None and busy[0][0] == session:
            del self._writing[path]

    # Reading

    def begin_reading(self, session: Session, path: str, stamp: str, now: float) -> None:
        """The file is about to be read, and this is its stamp before that."""
        self._make_room(self._reading, now)
        self._reading[session, path] = (stamp, now + UNDER_WAY_SECONDS)

    def has_read(self, session: Session, path: str, stamp: str, time: float, now: float) -> list[Key]:
        """The file was read, and this is its stamp after that. What had to be forgotten for it."""
        before, until = self._reading.pop((session, path), ("", 0.0))
        known = self.known(session, path)
        seen = before if until > now else stamp
        # It wrote it, or may have, read it again, and nothing was new: then it is still its own.
        own = known is not None and known.wrote and known.stamp in (seen, UNSURE)
        return self._put(session, path, Note(seen, time, wrote=own))

    def was_told(self, session: Session, path: str, stamp: str, time: float) -> list[Key]:
        """The session was refused, and told of the change: for one that cannot show that it looked again."""
        return self._put(session, path, Note(stamp, time, wrote=False))

    # Keeping

    def forget(self, party: str) -> list[Key]:
        """Drop all that is known of somebody; what was dropped."""
        gone = [key for session in list(self._of) if session.party == party for key in self._keys(session)]
        for session in {key[0] for key in gone}:
            self.over(session)
        for key in gone:
            self._drop(key)
        return gone

    def _keys(self, session: Session) -> Iterator[Key]:
        return ((session, path) for path in self._of[session])

    def _put(self, session: Session, path: str, note: Note) -> list[Key]:
        self._drop((session, path))
        gone: list[Key] = []
        paths = self._of.setdefault(session, {})
        if len(paths) >= MOST_OF_ONE:
            gone.append((session, next(iter(paths))))
        elif len(self._notes) >= MOST_NOTES:
            gone.append(next(iter(self._notes)))
        for key in gone:
            self._drop(key)
        self._notes[session, path] = note
        self._of.setdefault(session, {})[path] = None
        if note.wrote:
            self._writers[path] = session
        return gone

    def _drop(self, key: Key) -> None:
        session, path = key
        if self._notes.pop(key, None) is None:
            return
        del self._of[session][path]
        if not self._of[session]:
            del self._of[session]
        if self._writers.get(path) == session:
            del self._writers[path]

    @staticmethod
    def _make_room(under_way: dict[_K, tuple[_V, float]], now: float) -> None:
        if len(under_way) < MOST_UNDER_WAY:
            return
        for key in [key for key, begun in under_way.items() if begun[1] <= now] or [next(iter(under_way))]:
            del under_way[key]
