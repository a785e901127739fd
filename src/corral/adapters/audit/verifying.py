"""Verifying an audit trail from its files, also while it is written to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from corral.adapters.audit.elsewhere import Elsewhere
from corral.adapters.audit.files import ANCHOR_FILE, CHECKPOINTS, ENTRIES, Directory, lines_of, segment_name
from corral.adapters.audit.keys import PublicKeys, is_keyed, public_of, read_own, read_public
from corral.domain.audit import LONGEST_LINE
from corral.domain.audit_checkpoints import LONGEST_STATEMENT
from corral.domain.audit_sequence import Place
from corral.domain.audit_verify import Report, Verification, Writer
from corral.domain.errors import NotFoundError

#: A trail that is written to may change while it is looked at: what seems wrong then is looked at again.
_LOOKS = 4
_LARGEST_KEY = 4096
_NOBODY = Writer()
_NO_KEY = (
    "signing.pub is gone, so no signature could be checked, and none counts: give the key that you kept, with --key; "
    "or start the daemon again, which writes it anew from signing.key"
)

#: Lines of a file, and whether each has its end.
Lines = Iterator[tuple[bytes, bool]]


def verify(
    path: str, *, shipped: str = "", configured: str = "", keys: Sequence[str] = (), writer: Writer = _NOBODY
) -> Report:
    """Verify the trail at `path`: against its own checkpoints, against those in the file or directory `shipped`, and
    against what the daemon says that writes it.

    Where nobody says `shipped`, those in the directory `configured` are taken, as far as there are any and they can be
    read; a remark says so. If nothing is in what is said, that is a `WrongUseError`: nobody is to believe that it was
    compared. Signatures are checked with the public keys in the files `keys`; without any, with the one beside the
    trail.
    """
    looked_in = Elsewhere(shipped or configured, is_said=bool(shipped))
    directory = Directory.look(path)
    try:
        known = PublicKeys([read_public(_read(key), key) for key in keys] or _own_keys(directory))
        report = _once(directory, known, looked_in, writer)
        for _ in range(_LOOKS - 1):
            if report.ok or not directory.is_written_to():
                break
            report = _once(directory, known, looked_in, writer)
        return report
    finally:
        directory.close()


def _once(directory: Directory, keys: PublicKeys, elsewhere: Elsewhere, writer: Writer) -> Report:
    verification = Verification(keys.check)
    rests = not directory.is_written_to()
    verification.writer(writer)
    if is_keyed(directory):
        verification.key()
    # Those elsewhere first, and checkpoints before entries: what comes meanwhile is more than these vouch for, and
    # never less.
    for place, line in elsewhere.statements():
        verification.shipped(place, line)
    if said := elsewhere.remark():
        verification.remark(said)
    if not keys.ids and any(
        directory.size(segment_name(start, CHECKPOINTS)) for start in directory.numbers(CHECKPOINTS)
    ):
        verification.remark(_NO_KEY)
    files = _Files(directory, verification)
    for _, name, lines in files.of(directory.numbers(CHECKPOINTS), CHECKPOINTS, LONGEST_STATEMENT):
        for at, (line, ended) in enumerate(lines, 1):
            verification.checkpoint(Place(file=name, line=at), line, ended=ended)
    starts = directory.numbers()
    signed = set(directory.numbers(CHECKPOINTS))
    for start, name, lines in files.of(starts, ENTRIES, LONGEST_LINE):
        verification.segment(start, lacks="" if start in signed else segment_name(start, CHECKPOINTS))
        for at, (line, ended) in enumerate(lines, 1):
            verification.entry(Place(file=name, line=at), line, ended=ended)
    if rests and not directory.is_written_to():
        verification.rests()
    return verification.end()


class _Files:
    """The files of a trail, whose oldest may be dropped while they are looked at.

    Before a file goes, the anchor is in its place that tells of it. So the anchor is looked at behind each list of
    files, and again when one that is in the list is not there: then what it tells of was dropped, and misses nothing.
    """

    def __init__(self, directory: Directory, verification: Verification) -> None:
        self._directory = directory
        self._verification = verification
        self._anchor: bytes | None = None

    def of(self, starts: Sequence[int], kind: str, longest: int) -> Iterator[tuple[int, str, Lines]]:
        """Each file of a list: its number, its name, and its lines."""
        self._look_at_anchor()
        dropped = 0
        for start in starts:
            if start <= dropped:
                continue
            name = segment_name(start, kind)
            handle = self._directory.open(name)
            if handle is None:
                self._look_at_anchor()
                dropped = self._verification.gone(start)
                lines: Lines = iter(())
            else:
                lines = lines_of(handle, longest)
            if start > dropped:
                yield start, name, lines

    def _look_at_anchor(self) -> None:
        anchor = self._directory.read(ANCHOR_FILE, LONGEST_STATEMENT + 2)
        if anchor is not None and anchor != self._anchor:
            self._verification.anchor(Place(file=ANCHOR_FILE, line=1), anchor.removesuffix(b"\n"))
            self._anchor = anchor


def _own_keys(directory: Directory) -> list[Ed25519PublicKey]:
    data = public_of(directory)
    return [] if data is None else [read_own(data, directory)]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST_KEY)
    except FileNotFoundError:
        raise NotFoundError(f"there is no key at {path}", "corral audit key prints it") from None
