"""A cgroup for each machine, below the root of the unified hierarchy, and its removal."""

import os
import re
import time
from pathlib import Path

from tests.lab.host.errors import CannotRunError, LabError

_PREFIX = "corral-lab-"


def unified() -> Path:
    """Where cgroup v2 is mounted: at /sys/fs/cgroup, or beside the old controllers on a hybrid host."""
    with open("/proc/self/mounts") as mounts:
        points = [fields[1] for line in mounts if (fields := line.split())[2] == "cgroup2"]
    if not points:
        raise CannotRunError("no cgroup v2 is mounted")
    return Path(points[0])


def make() -> Path:
    """A new cgroup. Its name says which process is in charge of it."""
    try:
        place = unified() / f"{_PREFIX}{os.getpid()}-{_started(os.getpid())}-{time.monotonic_ns():x}"
        place.mkdir()
    except OSError as error:
        raise CannotRunError(f"cannot make a cgroup in {unified()}: {error.strerror}") from error
    return place


def remove(place: Path, seconds: float = 10.0) -> None:
    """End what is left in `place` and remove it with everything below."""
    until = time.monotonic() + seconds
    while place.exists():
        (place / "cgroup.kill").write_text("1")
        for below in sorted(place.rglob("*/"), key=lambda one: -len(one.parts)):
            _rmdir(below)
        if _rmdir(place):
            return
        if time.monotonic() > until:
            raise LabError(f"{place} does not get empty", processes(place))
        time.sleep(0.02)


def processes(place: Path) -> str:
    """What is in `place` and below, a line for each process."""
    lines = []
    for file in place.rglob("cgroup.procs"):
        try:
            for pid in file.read_text().split():
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                lines.append(f"pid {pid} in {file.parent}: {command}")
        except OSError:
            continue
    return "\n".join(lines)


def abandoned() -> list[Path]:
    """The cgroups of machines whose driver is gone."""
    found = []
    for place in unified().glob(f"{_PREFIX}*"):
        name = re.fullmatch(_PREFIX + r"(\d+)-(\d+)-\w+", place.name)
        if name and _started(int(name[1])) != name[2]:
            found.append(place)
    return found


def _started(pid: int) -> str:
    """The start time of a process, which tells it from a later one with the same pid; empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat[stat.rindex(")") + 2 :].split()[19]


def _rmdir(place: Path) -> bool:
    try:
        place.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
