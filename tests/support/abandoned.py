"""What a test run left behind that was cut off: killed by a time limit, it could not clean up after itself.

Each run writes down, in the home of its person, which process it is and which directories its tests have. When that
process is gone, whatever still belongs to one of those directories is nobody's any more: the next run names it and ends
it. What others run on the machine meanwhile is theirs, and is left alone.
"""

import glob
import os
from collections.abc import Iterable

from tests.support import processes
from tests.support.files import remove_tree
from tests.support.leaks import belongs_to

_NOTE = ".test-run"


def begin(home: str) -> None:
    """This process begins a run, with a person whose home that is."""
    own = processes.process(os.getpid())
    assert own is not None
    _write(home, f"{own.pid} {own.started}\n")


def note(home: str, directory: str) -> None:
    """A test of the run has this directory."""
    _write(home, f"{directory}\n")


def end_abandoned(homes: Iterable[str] = ()) -> list[str]:
    """End what runs left that are over, by pid; a line for each. Of these homes, or of all there are."""
    return [line for home in homes or glob.glob("/tmp/ch-*") for line in _ended(home)]


def _ended(home: str) -> list[str]:
    try:
        info = os.stat(f"{home}/{_NOTE}")
        with open(f"{home}/{_NOTE}", encoding="utf-8") as file:
            owner, *directories = file.read().splitlines()
        pid, started = map(int, owner.split())
    except (OSError, ValueError):
        return []  # none of ours, or another run ends it at this moment
    run = processes.process(pid)
    if info.st_uid != os.getuid() or (run is not None and run.started == started and not run.zombie):
        return []
    try:
        os.rename(f"{home}/{_NOTE}", f"{home}/{_NOTE}.ended")  # by one of those that look, and not by two
    except OSError:
        return []
    # A test that was over has removed its directory, and ended what was left in it.
    directories = [directory for directory in directories if os.path.isdir(directory)]
    left = [
        one
        for one in processes.snapshot().values()
        if not one.zombie and any(belongs_to(one, directory) for directory in (home, *directories))
    ]
    lines = [one.describe() for one in left]
    for one in left:
        processes.kill(one)
    for directory in (*directories, home):
        remove_tree(directory)
    return lines


def _write(home: str, line: str) -> None:
    with open(f"{home}/{_NOTE}", "a", encoding="utf-8") as file:
        file.write(line)
