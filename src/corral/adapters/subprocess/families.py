"""Which process belongs to which command, where there is no cgroup to tell.

By the id in its environment, by descending from one that is known, and by what was handed to the host, which is where
orphans go. An orphan that cleared its environment is told by the cgroup it is in or the output it holds open; one that
has neither counts to the command that ended last before it was seen. What once belonged to a command stays with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from corral.adapters.cgroup.tree import unified_name_of
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process
from corral.adapters.subprocess import descent
from corral.adapters.subprocess.records import ProcessRecord
from corral.domain.environment import HOST_VARIABLE, PROCESS_VARIABLE

_MARKER = PROCESS_VARIABLE.encode()
_HOST = HOST_VARIABLE.encode()
#: An exec takes less than these together; what takes longer is asked again by whoever looks next.
_LOOKS, _LOOK_SECONDS = 5, 0.002
#: No process has this id.
_SOMEBODY_ELSE = ""
_Key = tuple[int, int]


class Families:
    """Remembers what was seen. Not for two threads at a time."""

    def __init__(self, markers: Sequence[bytes]) -> None:
        #: What processes of the team have in their environment.
        self._markers = [marker.partition(b"=")[::2] for marker in markers]
        #: Whose each process is that was seen running; None: it does not say.
        self._seen: dict[_Key, str | None] = {}
        #: Which had their moment and still said nothing: they are not waited for again.
        self._silent: set[_Key] = set()

    def look(self, records: Sequence[ProcessRecord], host: int | None) -> dict[str, list[Process]]:
        """Everything that runs of these, by id. One look for all of them."""
        everyone = _everyone(records, host)
        found = self.sort(everyone, records, host)
        running = {process.key for process in everyone}
        self._seen = {key: owner for key, owner in self._seen.items() if key in running}
        self._silent &= running
        return found

    def look_for(self, record: ProcessRecord, records: Sequence[ProcessRecord], host: int | None) -> list[Process]:
        """The same of one of them. The trees of the others are left alone, if they can be."""
        if host is None or record.host != host or not descent.can_be_followed():
            return self.look(records, host)[record.process]
        others = {one.pid for one in records if one.running and one is not record}
        everyone = descent.below(child for child in descent.children(host) if child not in others)
        return self.sort(everyone, records, host)[record.process]

    def sort(
        self, everyone: Sequence[Process], records: Sequence[ProcessRecord], host: int | None
    ) -> dict[str, list[Process]]:
        """The same among these processes, be they all or not."""
        known = {record.process: record for record in records}
        leaders = {(record.pid, record.start): record.process for record in records if record.running}
        self._let_become([one for one in everyone if one.parent == host and one.key not in leaders])
        owners: dict[_Key, str] = {}
        for process in everyone:
            owner = leaders.get(process.key) or self._owner(process)
            if owner in known:
                owners[process.key] = owner
        _descend(everyone, owners)
        orphans = [one for one in everyone if one.parent == host and self._seen.get(one.key, "") is None]
        for orphan in orphans:
            owner = owners.get(orphan.key) or _whose(orphan, records, host)
            if owner is not None:
                owners[orphan.key] = owner
        if orphans:
            _descend(everyone, owners)
        self._seen |= owners
        found: dict[str, list[Process]] = {process: [] for process in known}
        for process in everyone:
            if process.key in owners:
                found[owners[process.key]].append(process)
        return found

    def _let_become(self, orphans: Sequence[Process]) -> None:
        """Give those in the middle of an exec the moment that they need to say whose they are."""
        unclear = [one for one in orphans if one.state not in proc.ENDED_STATES and one.key not in self._silent]
        for _ in range(_LOOKS):
            unclear = [one for one in unclear if self._owner(one) is None and one.key not in self._seen]
            if not unclear:
                return
            time.sleep(_LOOK_SECONDS)
        self._silent |= {one.key for one in unclear}

    def _owner(self, process: Process) -> str | None:
        if process.key in self._seen:
            return self._seen[process.key]
        variables = proc.environment(process.pid)
        if proc.marker_value(variables, _HOST) is not None:
            return None  # it has yet to become its program, and is asked again
        if not variables and not any(proc.argument_vector(process.pid)):
            return None  # so is one in the middle of it
        owner = proc.marker_value(variables, _MARKER)
        self._seen[process.key] = _SOMEBODY_ELSE if owner is not None and self._of_others(variables) else owner
        return self._seen[process.key]

    def _of_others(self, variables: bytes) -> bool:
        """True if it says to be of another team, or of another instance."""
        said = [(proc.marker_value(variables, name), value.decode()) for name, value in self._markers]
        return any(value is not None and value != ours for value, ours in said)


def _descend(everyone: Sequence[Process], owners: dict[_Key, str]) -> None:
    """Give to each owner what descends from what it has."""
    children: dict[int, list[Process]] = {}
    for process in everyone:
        children.setdefault(process.parent, []).append(process)
    queue = [process for process in everyone if process.key in owners]
    while queue:
        parent = queue.pop()
        for child in children.get(parent.pid, ()):
            if child.key not in owners:
                owners[child.key] = owners[parent.key]
                queue.append(child)


def _everyone(records: Sequence[ProcessRecord], host: int | None) -> list[Process]:
    """All processes that can belong to one of these.

    Whatever loses its parents below the host is handed to it, so it has all that was ever born under it. What an
    earlier host left behind is somewhere else.
    """
    elsewhere = any(record.host != host and not record.cgroup for record in records)
    if host is None or elsewhere or not descent.can_be_followed():
        return proc.every_process()
    return descent.below(descent.children(host))


def _whose(orphan: Process, records: Sequence[ProcessRecord], host: int | None) -> str | None:
    """The command that an orphan belongs to which says nothing of it itself."""
    groups = {os.path.basename(record.cgroup): record.process for record in records if record.cgroup}
    if groups:
        for part in (unified_name_of(orphan.pid) or "").split("/"):
            if part in groups:
                return groups[part]
    outputs = {record.output: record.process for record in records if not record.closed}
    for descriptor in (1, 2):
        try:
            target = os.readlink(f"/proc/{orphan.pid}/fd/{descriptor}")
        except OSError:
            continue  # closed, gone, or not for us to see
        if target in outputs:
            return outputs[target]
    could_be = [one for one in records if one.host == host and not one.cgroup and one.start <= orphan.start]
    if not could_be:
        return None
    # The one that ended last; if all of them run, the latest.
    return max(could_be, key=lambda record: (not record.running, record.ended_at or record.started_at)).process
