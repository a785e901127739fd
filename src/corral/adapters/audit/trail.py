"""Writing the audit trail: entries to segments, signed checkpoints beside them, old segments dropped behind an anchor.

Everything here waits for the disk, and nothing for an event loop. One thread appends, rotates and signs; `sync` alone
may be called by another meanwhile, so that entries are written while earlier ones are on their way to the disk.

| when this returns | this is so |
|---|---|
| `append` | the kernel has the entries: they are there if this process is killed, and may be lost with the power |
| `sync` | they are on the disk |
| `checkpoint` | so is a signature over all of them |

What `append` refuses was never in the trail: a write that the disk took a part of is taken back.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from corral.adapters.audit import ends, retention, shipped
from corral.adapters.audit.files import CHECKPOINTS, Directory, cannot_be_written, segment_name, write_all
from corral.adapters.audit.keys import SigningKey
from corral.domain.audit import CLOSED, ITSELF, OPENED, RECOVERED, Note, Target, sealed
from corral.domain.audit_checkpoints import CHECKPOINT, Statement, signed
from corral.domain.audit_detail import bounded
from corral.domain.audit_terms import AuditTerms
from corral.domain.errors import BrokenTrailError, CorralError
from corral.domain.timestamps import timestamp
from corral.failpoint import point

log = logging.getLogger("corral.audit")


@dataclass(frozen=True, slots=True)
class _File:
    """An open file, to find out whether it is still the one at its path."""

    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, handle: int, path: str) -> _File:
        info = os.fstat(handle)
        return cls(path, info.st_dev, info.st_ino)


_NO_FILE = _File("", 0, 0)


class Trail:
    """The trail of one instance, opened by the one process that writes it."""

    def __init__(self, directory: Directory, key: SigningKey, terms: AuditTerms, now: Callable[[], float]) -> None:
        self._directory = directory
        self._key = key
        self._terms = terms
        self._now = now
        #: The last entry: its number and its hash, in one piece for whoever looks from another thread.
        self.head = (0, "")
        #: The last one that a signature vouches for.
        self.signed = 0
        self._checkpoint = 0
        self._digest = ""
        self._segment = 0
        #: Unix time of the first entry of the segment; 0 if it has none.
        self._begun = 0.0
        self._size = 0
        self._handle = -1
        self._checkpoints = -1
        #: What the two are, and where they are expected to be.
        self._files = (_NO_FILE, _NO_FILE)
        #: Held while the handle that is written to changes.
        self._changing = threading.Lock()
        #: Why nothing more can be written by this process.
        self._broken: CorralError | None = None
        #: The newest checkpoint, until somebody takes it to be shipped.
        self._unshipped: bytes | None = None
        #: A write could be taken back neither: what is left of it has to be marked first.
        self._torn = False

    @classmethod
    def open(cls, path: str, terms: AuditTerms, now: Callable[[], float], about: Mapping[str, object]) -> Trail:
        """Go on with the trail at `path`, or begin one; `about` joins the entry that tells of it.

        What a crash left behind is told of in the trail. Raises `RefusedError` or `BrokenTrailError` if the trail is
        not as this program leaves one, in a way that no crash explains, or if it is not the one that the newest shipped
        checkpoint vouches for: then no entry is written to it.
        """
        directory = Directory.make(path)
        try:
            directory.lock()
            trail = cls(directory, SigningKey.of(directory), terms, now)
            trail._begin(about)
        except OSError as error:
            directory.close()
            raise cannot_be_written(path, error) from error
        except BaseException:
            directory.close()
            raise
        return trail

    def _begin(self, about: Mapping[str, object]) -> None:
        end = ends.find(self._directory)
        if not end.has_entries and not self._key.is_new:
            raise BrokenTrailError(
                f"{self._directory.path} has the key of an audit trail and not one entry of it: they were removed",
                ends.elsewhere(self._directory.path),
            )
        if self._terms.checkpoint_directory:
            shipped.refuse_if_put_back(self._directory, end, self._key, self._terms.checkpoint_directory)
        self.head = (end.number, end.hash)
        self.signed, self._checkpoint, self._digest = end.signed, end.checkpoint, end.digest
        if end.segment is None:
            self._start_segment()
        else:
            self._open_segment(end.segment, new=False)
            self._begun = datetime.fromisoformat(end.begun).timestamp() if end.begun else 0.0
        opening = {**about, "signing": self._key.id}
        if end.checkpoint:
            opening |= {"checkpoint": end.checkpoint, "checkpoint_sha256": end.digest}
        self.append(
            [*(self._own(RECOVERED, torn.as_detail()) for torn in end.torn), self._own(OPENED, opening)],
        )
        if self._key.is_new:
            # After the first entry: so a key without any is nothing that a crash leaves.
            self.sync()
        self._key.keep(self._directory)
        self.checkpoint()
        self._drop_old()

    @property
    def number(self) -> int:
        """The last entry."""
        return self.head[0]

    @property
    def unsigned(self) -> int:
        """How many entries no signature vouches for yet."""
        return self.number - self.signed

    # Entries

    @property
    def is_quick(self) -> bool:
        """Whether `append` has nothing to do but to hand lines to the kernel."""
        return self._broken is None and not self._torn and not self._is_full()

    def append(self, notes: Sequence[Note]) -> None:
        """Write entries, in this order. Raises `RefusedError` if they cannot be, and then none of them was."""
        if self._broken is not None:
            raise self._broken
        try:
            if self._torn:
                self._mend()
            if self._is_full():
                self._rotate()
            self._write(notes)
        except OSError as error:
            raise cannot_be_written(self._directory.path, error) from error

    def _write(self, notes: Sequence[Note]) -> None:
        (number, digest), lines = self.head, []
        for note in notes:
            number += 1
            line, digest = sealed(number, note, digest)
            lines.append(line)
        data = b"".join(lines)
        self._must_be_there(self._files[0], self._size, self._size)
        point("audit.appending")
        try:
            write_all(self._handle, data)
        except OSError:
            self._take_back(self._handle, self._size)
            raise
        point("audit.appended")
        self._size += len(data)
        self.head = (number, digest)
        if not self._begun:
            self._begun = self._now()

    def _take_back(self, handle: int, size: int) -> None:
        """Remove what the disk took of a write that nobody has been told of."""
        try:
            os.ftruncate(handle, size)
        except OSError:
            self._torn = True

    def _mend(self) -> None:
        """Go on after a write that could not be taken back: whole lines of it count, the last one is marked."""
        end = ends.find(self._directory)
        self.head = (end.number, end.hash)
        self.signed, self._checkpoint, self._digest = end.signed, end.checkpoint, end.digest
        self._size = os.fstat(self._handle).st_size
        self._torn = False
        if end.torn:
            self._write([self._own(RECOVERED, torn.as_detail()) for torn in end.torn])

    def sync(self) -> int:
        """Return when all that is written by now is on the disk, in the file of its name: the number of the last such
        entry.

        A disk that fails here may have lost what it took before, so nothing more is written to it by this process.
        """
        with self._changing:
            # What is written meanwhile makes it longer.
            number, handle, file, size = self.number, os.dup(self._handle), self._files[0], self._size
        try:
            os.fdatasync(handle)
            self._must_be_there(file, size)
        except OSError as error:
            self._broken = cannot_be_written(self._directory.path, error)
            raise self._broken from error
        finally:
            os.close(handle)
        point("audit.synced")
        return number

    def _must_be_there(self, file: _File, least: int, most: int | None = None) -> None:
        """Raise, and write nothing more, if the file at the path is not the one that is open, or is not as long as what
        was written to it: entries that nobody finds are not written down."""
        try:
            there = os.stat(file.path, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            there = None
        if there is None:
            what = "was removed"
        elif there.st_ino != file.inode or there.st_dev != file.device:
            what = "was replaced"
        elif there.st_size < least or (most is not None and there.st_size > most):
            what = f"has {there.st_size} bytes, and {least} were written to it"
        else:
            return
        self._broken = BrokenTrailError(
            f"{file.path} {what} while the daemon writes to it, and what cannot be audited is not done",
            ends.elsewhere(
                self._directory.path, f"End the daemon by a signal: systemctl stop corral, or kill {os.getpid()}. "
            ),
        )
        log.critical("%s", self._broken)
        raise self._broken

    # Checkpoints

    def to_ship(self) -> bytes | None:
        """The newest checkpoint, also one of the opening or of the end of a file; None if it was taken before."""
        line, self._unshipped = self._unshipped, None
        return line

    def checkpoint(self) -> None:
        """Sign what is there, once it is on the disk; nothing if nothing is new since the last one."""
        if not self.unsigned:
            return
        if self._torn:
            self._mend()
        self.sync()
        statement = Statement(
            kind=CHECKPOINT,
            checkpoint=self._checkpoint + 1,
            time=timestamp(self._now()),
            number=self.number,
            hash=self.head[1],
            previous=self._digest,
            key=self._key.id,
        )
        line, digest = signed(statement, self._key.sign)
        try:
            self._write_checkpoint(line)
        except OSError as error:
            raise cannot_be_written(self._directory.path, error) from error
        self.signed, self._checkpoint, self._digest = statement.number, statement.checkpoint, digest
        self._unshipped = line

    def _write_checkpoint(self, line: bytes) -> None:
        size = os.fstat(self._checkpoints).st_size
        self._must_be_there(self._files[1], 0)
        point("audit.signing")
        try:
            write_all(self._checkpoints, line)
            point("audit.signed")
            os.fsync(self._checkpoints)
        except OSError:
            self._take_back(self._checkpoints, size)
            raise
        point("audit.checkpointed")

    # Segments

    def _is_full(self) -> bool:
        if not self._begun:
            return False
        return self._size >= self._terms.segment_size or self._now() - self._begun >= self._terms.segment_age

    def _rotate(self) -> None:
        """Close the segment, signed to its last entry, and begin the next."""
        self.checkpoint()
        point("audit.closing_segment")
        self._start_segment()
        point("audit.segment_begun")
        self._drop_old()

    def _start_segment(self) -> None:
        start = self.number + 1
        # A crash may have left an empty one; a file with something in it would be the segment that is open.
        self._open_segment(start, new=start not in self._directory.numbers())

    def _open_segment(self, start: int, *, new: bool) -> None:
        handle = self._directory.append_to(segment_name(start), new=new)
        if new:
            point("audit.segment_made")
        try:
            checkpoints = self._open_checkpoints(start)
            self._directory.sync()
        except BaseException:
            os.close(handle)
            raise
        self._use(start, handle, checkpoints)

    def _open_checkpoints(self, start: int) -> int:
        there = start in self._directory.numbers(CHECKPOINTS)
        return self._directory.append_to(segment_name(start, CHECKPOINTS), new=not there)

    def _use(self, start: int, handle: int, checkpoints: int) -> None:
        with self._changing:
            old = (self._handle, self._checkpoints)
            self._segment, self._handle, self._checkpoints = start, handle, checkpoints
            self._size, self._begun = os.fstat(handle).st_size, 0.0
            self._files = (
                _File.of(handle, self._directory.path_of(start)),
                _File.of(checkpoints, self._directory.path_of(start, CHECKPOINTS)),
            )
        for one in old:
            if one >= 0:
                os.close(one)

    def _drop_old(self) -> None:
        """Drop what is too old or too much. The trail goes on without that if it cannot be done."""
        try:
            retention.drop_old(self._directory, self._key, self._terms, self._now())
        except OSError as error:
            log.warning("old segments of the audit trail could not be dropped: %s", error)

    # The end

    def close(self) -> None:
        """Sign what is there, and let go of it."""
        try:
            if self._broken is None:
                self.append([self._own(CLOSED, {})])
                self.checkpoint()
        finally:
            os.close(self._handle)
            os.close(self._checkpoints)
            self._directory.close()

    def _own(self, verb: str, detail: Mapping[str, object]) -> Note:
        return Note(
            time=timestamp(self._now()),
            who=ITSELF,
            verb=verb,
            on=Target(),
            allowed=True,
            outcome="ok",
            detail=bounded(detail),
        )
