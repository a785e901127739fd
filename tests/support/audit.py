"""Audit trails for tests: small ones, with several segments, and what a meddler can do to their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from corral.adapters.audit.trail import Trail
from corral.domain import audit
from corral.domain.audit import Actor, Entry, Note, Target
from corral.domain.audit_terms import AuditTerms
from corral.domain.audit_verify import Report
from corral.domain.timestamps import timestamp

ANN = Actor(uid=1001, user="ann", member=True, agent="shop/api", run="0123456789ab")
#: A file holds about six entries; everything else as it is.
TERMS = AuditTerms(enabled=True, segment_size=2500, checkpoint_entries=4)


class Clock:
    """A time that goes on by a second with each look at it."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self.time = start

    def __call__(self) -> float:
        self.time += 1.0
        return self.time


def note(number: int, *, time: float = 1_800_000_000.0, **changes: object) -> Note:
    """Something to write down."""
    said = Note(
        time=timestamp(time + number),
        who=ANN,
        verb="send",
        on=Target(kind="agent", team="shop", agent="docs"),
        allowed=number % 3 != 0,
        rule="members_send",
        outcome="" if number % 2 else "200",
        detail={"bytes": number, "name": 'it\'s "quoted"\n'},
        trace=f"{number:016x}",
    )
    return replace(said, **changes)  # type: ignore[arg-type]


def write(directory: Path, count: int, *, terms: AuditTerms = TERMS, clock: Clock | None = None) -> None:
    """A closed trail with so many entries of ours, signed every few, or more of it if it is there."""
    trail = Trail.open(str(directory), terms, clock or Clock(), {"instance": "test"})
    for number in range(1, count + 1):
        trail.append([note(number)])
        if trail.unsigned >= terms.checkpoint_entries:
            trail.checkpoint()
    trail.close()


def remarked(report: Report) -> list[str]:
    """Its remarks, but for where a trail ends that was closed in order."""
    return [said for said in report.remarks if not said.startswith("it ends with entry ")]


def segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.jsonl"))


def checkpoints(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.checkpoints"))


def ship(directory: Path, to: Path) -> Path:
    """Keep a copy of all checkpoints elsewhere."""
    to.write_bytes(b"".join(path.read_bytes() for path in checkpoints(directory)))
    return to


@dataclass(frozen=True)
class Line:
    """A line of a trail, and where it is."""

    path: Path
    number: int
    data: bytes


def lines(paths: list[Path]) -> list[Line]:
    """Every line of these files, with its end."""
    return [Line(path, at, data) for path in paths for at, data in enumerate(path.read_bytes().splitlines(True), 1)]


def entries(directory: Path) -> Iterator[Entry]:
    """Every entry of a trail."""
    for line in lines(segments(directory)):
        found = audit.read(line.data.removesuffix(b"\n"))
        if not isinstance(found, str):
            yield found


def put_back(line: Line, data: list[bytes]) -> None:
    """Write other lines in the place of one."""
    every = line.path.read_bytes().splitlines(True)
    every[line.number - 1 : line.number] = data
    line.path.write_bytes(b"".join(every))
