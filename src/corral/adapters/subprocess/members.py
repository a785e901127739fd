"""What belongs to a process, and signals to all of it: by its cgroup, or without one as `families` knows it."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from signal import Signals
from typing import cast

from corral.adapters.cgroup import ending as cgroup_ending
from corral.adapters.cgroup import hierarchy, killing
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import ending as process_ending
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process
from corral.adapters.subprocess.families import Families
from corral.adapters.subprocess.records import ProcessRecord
from corral.domain.errors import CorralError

#: A stopped process hears of these only when it goes on.
_TO_BE_HEARD = frozenset((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT))
#: Looks for what was started while a signal went round; what forks faster than that is for `terminate`.
_ROUNDS = 10


class Members:
    """Looks and signals for one team, whose processes have these markers in their environment."""

    def __init__(self, markers: Sequence[bytes]) -> None:
        self._families = Families(markers)
        self._hierarchy: hierarchy.Hierarchy | None = None

    def pids(self, known: Mapping[str, ProcessRecord], host: int | None) -> dict[str, list[int]]:
        """Of every process all that runs, by id. One look for all of them."""
        found = {process: self.at_once(record) for process, record in known.items() if record.cgroup}
        if len(found) < len(known):
            for process, members in self._families.look(list(known.values()), host).items():
                found.setdefault(process, [member.pid for member in members])
        return found

    def of(self, record: ProcessRecord, known: Mapping[str, ProcessRecord], host: int | None) -> list[Process]:
        """What runs of one; `known` are all that there are."""
        if record.gone:
            return []
        if record.cgroup:
            return _running(self._group(record))
        return self._families.look_for(record, list(known.values()), host)

    def at_once(self, record: ProcessRecord) -> list[int]:
        """The pids of one without looking far: where there is no cgroup, that of the command alone."""
        if record.gone:
            return []
        if record.cgroup:
            return self._group(record).pids()
        return [record.pid] if record.running else []

    def signal(self, record: ProcessRecord, number: int, known: Mapping[str, ProcessRecord], host: int | None) -> int:
        """Send a signal to all of it; to how many it went. To interrupt a terminal is to interrupt its foreground."""
        wanted = cast(Signals, number)  # a real-time signal has no name, and is one all the same
        if record.tty and number == signal.SIGINT:
            # Once only: whoever is in the foreground after that was not meant.
            members = _in_foreground(self.of(record, known, host))
            return sum(self._send(record, process, wanted) for process in members)
        told: set[tuple[int, int]] = set()
        reached = 0
        for _ in range(_ROUNDS):
            members = [process for process in self.of(record, known, host) if process.key not in told]
            if not members:
                break
            told.update(process.key for process in members)
            reached += sum(self._send(record, process, wanted) for process in members)
        return reached

    async def end(
        self, record: ProcessRecord, grace: float, known: Mapping[str, ProcessRecord], host: int | None
    ) -> list[Process]:
        """Ask all of it to end, and kill what has not after `grace` seconds. What would not end."""
        if record.cgroup:
            return (await cgroup_ending.end([self._group(record)], grace)).left
        records = list(known.values())
        outcome = await process_ending.end(
            lambda everyone: self._families.sort(everyone, records, host)[record.process],
            grace,
        )
        return outcome.left

    def _send(self, record: ProcessRecord, process: Process, number: Signals) -> bool:
        if record.cgroup:
            group = self._group(record)
            reached = killing.signal_member(group, process.pid, number)
            if number in _TO_BE_HEARD:
                killing.signal_member(group, process.pid, signal.SIGCONT)
            return reached
        reached = proc.send_signal(process, number)
        if number in _TO_BE_HEARD:
            proc.send_signal(process, signal.SIGCONT)
        return reached

    def _group(self, record: ProcessRecord) -> Cgroup:
        if self._hierarchy is None:
            found = hierarchy.find()
            if isinstance(found, str):
                raise CorralError(f"the cgroup of {record.process} cannot be seen: {found}", "`corral doctor` may help")
            self._hierarchy = found
        mount, root = self._hierarchy.mount.rstrip("/"), self._hierarchy.root.rstrip("/")
        return Cgroup(name=root + record.cgroup.removeprefix(mount), path=record.cgroup)


def _running(group: Cgroup) -> list[Process]:
    found = (proc.read(pid) for pid in group.pids())
    return [process for process in found if process is not None]


def _in_foreground(processes: list[Process]) -> list[Process]:
    """Those in the foreground group of the terminal that they have; all if they have none any more."""
    groups = {process.key: _groups(process.pid) for process in processes}
    foreground = {front for _, front in groups.values() if front > 0}
    return [process for process in processes if not foreground or groups[process.key][0] in foreground]


def _groups(pid: int) -> tuple[int, int]:
    """The group that a process is in, and the one in the foreground of its terminal; proc(5), fields 5 and 8."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0, -1
    return int(fields[2]), int(fields[5])
