"""The writer of an audit trail dies (-9) at every step: what it said was written is there, and the trail holds."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from corral.adapters.audit.verifying import verify
from corral.domain.audit import RECOVERED
from corral.domain.audit_sequence import CUT_OFF
from tests.support.audit import entries, remarked, segments, write

#: Every step of appending, signing, rotating, dropping and mending. `test_killed_at_every_step` holds it complete.
AUDITING = (
    "audit.appending",
    "audit.appended",
    "audit.synced",
    "audit.signing",
    "audit.signed",
    "audit.checkpointed",
    "audit.closing_segment",
    "audit.segment_made",
    "audit.segment_begun",
    "audit.dropping",
    "audit.anchored",
    "audit.half_dropped",
    "audit.dropped",
    "audit.mending",
    "audit.mended",
)
_MENDING = ("audit.mending", "audit.mended")
#: Appends, syncs, signs, rotates and drops; says which entry is on the disk. The step is armed before entry ARMED.
_PROGRAM = """
import sys
from pathlib import Path
from dataclasses import replace
from corral.adapters.audit.trail import Trail
from tests.support.audit import Clock, TERMS, note
directory, once, armed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
if not armed:
    once.touch()
trail = Trail.open(directory, replace(TERMS, keep_size=8000), Clock(), {})
for number in range(1, 80):
    if number == armed:
        once.touch()
    trail.append([note(number, trace=f"{armed}-{number}")])
    trail.sync()
    print(number, flush=True)
    if trail.unsigned >= TERMS.checkpoint_entries:
        trail.checkpoint()
trail.close()
"""


def _die(directory: Path, step: str, armed: int) -> list[int]:
    """Run the program until it dies at the step; the entries that it said were on the disk."""
    once = directory.parent / "once"
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(directory), str(once), str(armed)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "CORRAL_FAILPOINT": f"{step}:{once}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not once.exists(), f"it never came to the step; {done.stderr}"
    assert done.returncode == -signal.SIGKILL
    return [int(line) for line in done.stdout.split()]


def _tear(directory: Path) -> None:
    with segments(directory)[-1].open("ab") as file:
        file.write(b'{"number":4711,"ti')


#: Only an opening mends; everything else is also done by one who is in the middle of things.
_MOMENTS = [*((step, 0) for step in AUDITING), *((step, 30) for step in AUDITING if step not in _MENDING)]


@pytest.mark.parametrize(("step", "armed"), _MOMENTS)
def test_killed_at_every_step(own_directory: Path, step: str, armed: int) -> None:
    directory = own_directory / "audit"
    if step in _MENDING:
        write(directory, 3)
        _tear(directory)
    told = _die(directory, step, armed)
    early = {flaw.what for flaw in verify(str(directory)).flaws} if directory.exists() else set()
    # Nothing looks tampered with: at most the first checkpoint is yet to come, or the tear is yet to be told of.
    assert early <= ({CUT_OFF} if not armed else set()) | ({"torn", "edited"} if step in _MENDING else set())
    write(directory, 3)
    report = verify(str(directory))
    assert report.ok, report.flaws
    kept = {entry.note.trace for entry in entries(directory)}
    expected = {f"{armed}-{number}" for number in told}
    dropped = {f"{armed}-{number}" for number in range(1, report.dropped_through + 1)}
    assert expected - kept <= dropped
    numbers = [entry.number for entry in entries(directory)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert (RECOVERED in {entry.note.verb for entry in entries(directory)}) == (step in _MENDING)


def test_killed_twice_in_the_middle_of_mending(own_directory: Path) -> None:
    directory = own_directory / "audit"
    write(directory, 3)
    _tear(directory)
    _die(directory, "audit.mended", 0)
    _tear(directory)
    _die(directory, "audit.mending", 0)
    write(directory, 3)
    report = verify(str(directory))
    assert report.ok, report.flaws
    assert len(remarked(report)) == 2
