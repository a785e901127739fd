"""Whether an audit trail holds: no entry and no checkpoint was edited, removed, reordered or cut off. Pure.

The trail is handed over line by line, checkpoints before entries. What this cannot find, and says so: entries after the
last checkpoint that were cut off with all that followed them, and a whole trail that was put back to an earlier state.
Checkpoints that were taken off the host find both, up to the last of them; so does the daemon that writes the trail, as
long as it runs, up to the last entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain import audit, audit_checkpoints
from corral.domain.audit import CLOSED, GENESIS, OPENED, RECOVERED, Entry
from corral.domain.audit_checkpoints import ANCHOR, Check, Signed, Statement
from corral.domain.audit_sequence import (
    CUT_OFF,
    FORGED,
    MOST_FLAWS,
    REMOVED,
    REORDERED,
    REPLACED,
    TORN,
    Flaw,
    Link,
    Odd,
    Place,
    Sequence,
)

#: A line that begins no entry: the file ends before its line end.
_UNFINISHED = "the file ends in the middle of it: a crash, or a cut"
_NO_PLACE = Place(file="", line=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a verification."""

    ok: bool
    entries: int
    #: Of the entries that are there; 0 if there is none.
    first: int
    last: int
    checkpoints: int
    #: Up to this entry a valid signature vouches for the trail; what comes after it has hashes alone.
    signed_through: int
    #: Entries up to this one were dropped because of age or size, as an anchor says; 0 if none was.
    dropped_through: int
    flaws: list[Flaw]
    #: Flaws that are not listed because there are too many.
    left_out: int
    #: What is worth knowing and no flaw, such as writes that a crash tore and the trail itself tells of.
    remarks: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """What the daemon that writes a trail says of it, asked before its files are looked at."""

    #: The last entry that it wrote; 0 if it does not say.
    number: int = 0
    hash: str = ""
    #: What it has found out about its files itself: it writes nothing more to them.
    alarm: str = ""
    #: Why it says nothing.
    silence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vouched:
    hash: str
    #: Who vouches, and how.
    words: str
    signed: bool


class Verification:
    """One verification. Hand over what the daemon says, checkpoints from elsewhere, the anchor, checkpoints of the
    trail, then the segments in order; the anchor again whenever it is another one."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._anchor: Statement | None = None
        self._checkpoints: Sequence | None = None
        self._entries: Sequence | None = None
        #: Flaws that belong to neither chain.
        self._others: list[Flaw] = []
        self._others_left_out = 0
        #: By number of the entry, what signatures say its hash is.
        self._vouched: dict[int, list[_Vouched]] = {}
        #: By number of the checkpoint, its digest.
        self._digests: dict[int, str] = {}
        self._shipped: list[tuple[Place, Signed]] = []
        #: What the trail tells of writes that were torn: file, line, length and SHA-256 of what is left of each.
        self._told: set[tuple[object, ...]] = set()
        self._remarks: list[str] = []
        self._named = 0
        self._first_line = False
        self._lacks = ""
        self._first = self._count = self._signed_through = 0
        self._diverged = self._has_key = self._rests = self._is_closed = self._is_shortened = False

    # Statements

    def anchor(self, place: Place, line: bytes) -> None:
        """The statement about what was dropped."""
        statement = self._valid(place, line)
        if statement is None or statement.statement.kind != ANCHOR:
            if statement is not None:
                self._flaw(FORGED, place, 0, f"{place}: this is signed, and no anchor")
            return
        self._anchor = statement.statement
        self._vouch(statement.statement, place)

    def gone(self, named: int) -> int:
        """A file that was there a moment ago, named for this entry, is not there now. If the anchor tells of it, the
        chains go on behind what it says was dropped, and nothing of that is handed over any more: returns up to which
        entry; else 0."""
        anchor = self._anchor
        if anchor is None or anchor.number < named:
            return 0
        chains = (self._entries, anchor.number, anchor.hash), (self._checkpoints, anchor.checkpoint, anchor.previous)
        for chain, number, digest in chains:
            if chain is not None:
                chain.go_on_behind(number, digest)
        self._signed_through = max(self._signed_through, anchor.number)
        self._is_shortened = True
        return anchor.number

    def checkpoint(self, place: Place, line: bytes, *, ended: bool = True) -> None:
        """The next checkpoint of the trail. `ended` is False if its line has no end."""
        if not ended:
            self._checkpoint_chain(None).no_link(place, line, _UNFINISHED, TORN)
            return
        read = audit_checkpoints.read(line)
        why = read if isinstance(read, str) else self._unsigned(read)
        if isinstance(read, str) or why:
            self._checkpoint_chain(None).no_link(place, line, why)
            return
        statement = read.statement
        chain = self._checkpoint_chain(statement.checkpoint)
        chain.link(place, Link(number=statement.checkpoint, previous=statement.previous, digest=read.digest))
        self._digests[statement.checkpoint] = read.digest
        self._vouch(statement, place)

    def shipped(self, place: Place, line: bytes) -> None:
        """A statement that was kept elsewhere."""
        statement = self._valid(place, line)
        if statement is not None:
            self._shipped.append((place, statement))
            self._vouch(statement.statement, place)

    def writer(self, said: Writer) -> None:
        """What the daemon says."""
        if said.number:
            vouched = _Vouched(hash=said.hash, words="the daemon wrote", signed=False)
            self._vouched.setdefault(said.number, []).append(vouched)
        if said.alarm:
            self._flaw(REPLACED, _NO_PLACE, 0, f"the daemon says: {said.alarm}")
        if said.silence:
            self._remarks.append(said.silence)

    def remark(self, said: str) -> None:
        """Something that is worth knowing, and no flaw."""
        self._remarks.append(said)

    def key(self) -> None:
        """The key of the trail is there: it is made when there is an entry."""
        self._has_key = True

    def rests(self) -> None:
        """Nobody writes to the trail."""
        self._rests = True

    # Entries

    def segment(self, named: int, *, lacks: str = "") -> None:
        """The next file of entries, whose name says that it begins with the entry `named`. `lacks` is the file of its
        checkpoints, if that is not there."""
        if self._entries is None:
            self._entries = self._entry_chain(named)
        self._end_segment()
        self._named, self._first_line, self._lacks = named, True, lacks

    def entry(self, place: Place, line: bytes, *, ended: bool = True) -> None:
        """The next line of that file. `ended` is False if it has no end."""
        chain = self._entries
        assert chain is not None, "a segment comes first"
        first_line, self._first_line = self._first_line, False
        if not ended:
            chain.no_link(place, line, _UNFINISHED, TORN)
            return
        found = audit.read(line)
        self._count += 1
        if isinstance(found, str):
            chain.no_link(place, line, found)
            return
        self._first = self._first or found.number
        if first_line and found.number != self._named:
            message = f"{place}: the file is named for entry {self._named} and begins with entry {found.number}"
            chain.flaw(REORDERED, place, found.number, message)
        if chain.link(place, Link(number=found.number, previous=found.previous, digest=found.hash)):
            self._in_place(place, found)

    def end(self) -> Report:
        """That was all of it: what it comes to."""
        if self._checkpoints is not None:
            self._checkpoints.end()
        self._end_segment(is_last=True)
        if self._entries is not None:
            self._entries.end()
        dropped = self._anchor.number if self._anchor is not None else 0
        last = self._entries.next - 1 if self._entries is not None else dropped
        self._look_at_the_end(last)
        self._look_at_shipped()
        chains = [chain for chain in (self._entries, self._checkpoints) if chain is not None]
        flaws = [*self._others]
        for chain in chains:
            flaws += chain.flaws
            flaws += [odd.flaw for odd in chain.odd if not self._is_told(odd)]
        flaws.sort(key=lambda flaw: (flaw.file, flaw.line))
        return Report(
            ok=not flaws,
            entries=self._count,
            first=self._first,
            last=last if self._count else 0,
            checkpoints=len(self._digests),
            signed_through=self._signed_through,
            dropped_through=dropped,
            flaws=flaws[:MOST_FLAWS],
            left_out=max(0, len(flaws) - MOST_FLAWS) + self._others_left_out + sum(chain.left_out for chain in chains),
            remarks=self._remarks,
        )

    def _end_segment(self, *, is_last: bool = False) -> None:
        is_dropped = self._anchor is not None and self._named <= self._anchor.number
        # It is made before the first entry is written, and dropped before the file of entries is.
        if self._lacks and not is_dropped and not (is_last and self._first_line):
            place = Place(file=self._lacks, line=0)
            message = f"{self._lacks} is gone: the checkpoints of the entries from {self._named} on"
            self._flaw(REMOVED, place, self._named, message)
        if self._first_line:
            message = f"the file of entries from {self._named} on is empty: a crash has left it so, or a cut"
            self._remarks.append(message)

    def _in_place(self, place: Place, entry: Entry) -> None:
        for vouched in self._vouched.get(entry.number, ()):
            if vouched.hash == entry.hash:
                if vouched.signed:
                    self._signed_through = max(self._signed_through, entry.number)
            elif not self._diverged:
                # Every later signature differs as well, and that says nothing new.
                self._diverged = True
                since = f"entries after {self._signed_through}" if self._signed_through else "entries"
                message = f"{place}: entry {entry.number} is not the one that {vouched.words}"
                self._flaw(REPLACED, place, entry.number, f"{message}: {since} were replaced")
        self._is_closed = entry.note.verb == CLOSED
        detail = entry.note.detail
        if entry.note.verb == RECOVERED and len(self._told) < MOST_FLAWS:
            self._told.add(tuple(detail.get(name) for name in ("file", "line", "bytes", "sha256")))
        elif entry.note.verb == OPENED:
            self._look_at_opening(place, entry)

    def _look_at_opening(self, place: Place, entry: Entry) -> None:
        """An opening names the last checkpoint that there was: if that is gone, the end of its file was cut off."""
        number, digest = entry.note.detail.get("checkpoint"), entry.note.detail.get("checkpoint_sha256")
        dropped = self._anchor.checkpoint if self._anchor is not None else 0
        if type(number) is not int or number <= dropped or self._digests.get(number) == digest:
            return
        what = "is another one" if number in self._digests else "is gone"
        message = f"{place}: checkpoint {number}, which entry {entry.number} names as the last one, {what}"
        self._flaw(CUT_OFF if number not in self._digests else REPLACED, place, entry.number, message)

    def _look_at_the_end(self, last: int) -> None:
        place = self._entries.last if self._entries is not None and self._entries.last is not None else _NO_PLACE
        beyond = max((number for number in self._vouched if number > last), default=0)
        if beyond:
            words = self._vouched[beyond][0].words
            which = f"entry {beyond} was" if beyond == last + 1 else f"entries {last + 1} to {beyond} were"
            where = f"{place}: " if place.file else ""
            self._flaw(CUT_OFF, place, last + 1, f"{where}{which} cut off after this line: {words} entry {beyond}")
        elif not self._count and self._is_shortened:
            self._remarks.append("all entries that were there were dropped while they were looked at: verify again")
        elif not self._count and self._has_key:
            self._flaw(CUT_OFF, place, 1, "there is the key of a trail, and not one entry: all of them were removed")
        if self._count and self._rests and not self._is_closed:
            self._remarks.append(
                "the writer did not end in order: it was killed, its last entries were cut off, or this is a copy from "
                "when it wrote"
            )
        if self._count and self._rests and self._is_closed and not self._shipped:
            # So does a trail whose last files were taken away, with their checkpoints, from a pause of the writer on.
            self._remarks.append(
                f"it ends with entry {last}, with which the writer ended in order: whether there was more after that, "
                "only checkpoints that were kept elsewhere can tell"
            )
        if self._count and not self._digests and not self._is_shortened:
            self._flaw(CUT_OFF, place, last, f"{place}: there are entries, and not one checkpoint of them")

    def _look_at_shipped(self) -> None:
        latest = max((*self._digests, self._anchor.checkpoint if self._anchor is not None else 0))
        digests = {kept.statement.checkpoint: kept.digest for _, kept in self._shipped}
        for place, kept in self._shipped:
            statement = kept.statement
            if statement.kind == ANCHOR:
                continue
            number = statement.checkpoint
            here = self._digests.get(number)
            if here is not None and here != kept.digest:
                message = f"{place}: checkpoint {number} is another one in the trail"
                self._flaw(REPLACED, place, statement.number, message)
            elif number > latest:
                message = f"{place}: checkpoint {number} is not in the trail any more: it was cut off"
                self._flaw(CUT_OFF, place, statement.number, message)
            elif digests.get(number - 1, statement.previous) != statement.previous:
                # The trail may have dropped both by now.
                message = f"{place}: checkpoint {number} does not follow the checkpoint {number - 1} that was kept"
                self._flaw(REPLACED, place, statement.number, message)

    def _is_told(self, odd: Odd) -> bool:
        """True if the trail itself tells of what a crash left there."""
        if (odd.place.file, odd.place.line, odd.bytes, odd.sha256) not in self._told:
            return False
        self._remarks.append(f"{odd.place}: {odd.bytes} bytes of a write that a crash tore; the trail tells of it")
        return True

    def _entry_chain(self, named: int) -> Sequence:
        anchor = self._anchor
        if anchor is None or named == 1:
            return Sequence("entry", 1, GENESIS)
        if named <= anchor.number:
            # What was to be dropped, and is still there: the anchor vouches for it, by the hash of its last entry.
            return Sequence("entry", named, None)
        return Sequence("entry", anchor.number + 1, anchor.hash)

    def _checkpoint_chain(self, number: int | None) -> Sequence:
        if self._checkpoints is None:
            anchor = self._anchor
            if anchor is None or number == 1:
                self._checkpoints = Sequence("checkpoint", 1, GENESIS)
            elif number is not None and number <= anchor.checkpoint:
                self._checkpoints = Sequence("checkpoint", number, None)
            else:
                self._checkpoints = Sequence("checkpoint", anchor.checkpoint + 1, anchor.previous)
        return self._checkpoints

    # Signatures

    def _valid(self, place: Place, line: bytes) -> Signed | None:
        read = audit_checkpoints.read(line)
        why = read if isinstance(read, str) else self._unsigned(read)
        if isinstance(read, str) or why:
            self._flaw(FORGED, place, 0, f"{place}: this is no statement of the trail's key: {why}")
            return None
        return read

    def _unsigned(self, signed: Signed) -> str:
        """Why its signature does not count; empty if it does."""
        if self._check(signed.statement.key, signed.message, signed.signature):
            return ""
        return f"its signature is not one of the key {signed.statement.key[:40]!r}"

    def _vouch(self, statement: Statement, by: Place) -> None:
        if statement.number:
            self._vouched.setdefault(statement.number, []).append(
                _Vouched(hash=statement.hash, words=f"{by} signed", signed=True)
            )

    def _flaw(self, what: str, place: Place, number: int, message: str) -> None:
        if len(self._others) >= MOST_FLAWS:
            self._others_left_out += 1
            return
        self._others.append(Flaw(what=what, file=place.file, line=place.line, number=number, message=message))
