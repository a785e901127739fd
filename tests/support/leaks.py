"""The leak check: what a test left behind, by name.

A process is a test's own if its environment names the test's directory (every test has one, and everything it starts
inherits it), if it stands on that directory, or if it is a new descendant of the test process. A tmux server is also
found by the socket it listens on, since its environment may have been swept clean. What others do on the machine
meanwhile is nobody's leak.
"""

import gc
import os
import threading
from dataclasses import dataclass, field

from tests.support import processes, sockets
from tests.support.processes import Process

#: What was told to end may need a moment; nothing that was forgotten ends by itself in it.
GRACE_SECONDS = 3.0

_TMUX_SERVER = "tmux: server"


@dataclass
class Before:
    """What there was when the test began."""

    processes: dict[int, Process] = field(default_factory=processes.snapshot)
    descriptors: dict[int, str] = field(default_factory=lambda: _descriptors())
    threads: set[threading.Thread] = field(default_factory=lambda: set(threading.enumerate()))
    mounts: set[str] = field(default_factory=lambda: _mounts())


class LeakCheck:
    """Make one when a test begins, with the test's own directory; ask `leaks` when it is over."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._before = Before()

    def leaks(self, grace: float = GRACE_SECONDS) -> list[str]:
        """A line for everything that is left. Empty is what everybody wants."""
        return [*self._process_leaks(grace), *self._thread_leaks(grace), *self._descriptor_leaks(), *self._mounts()]

    def end_processes(self) -> None:
        """End what is left, by pid, and only what the environment or the socket proves to be this test's."""
        for one in self._left():
            if self._proved(one):
                processes.kill(one)

    def _process_leaks(self, grace: float) -> list[str]:
        left = self._left()
        if any(not one.zombie for one in left):
            processes.wait_gone([one for one in left if not one.zombie], grace)
            left = self._left()
        return [one.describe() for one in left]

    def _left(self) -> list[Process]:
        now = processes.snapshot()
        own = processes.descendants(os.getpid(), now)
        children = {pid for pid in own if now[pid].parent == os.getpid()}
        return [
            one
            for one in now.values()
            if one.pid != os.getpid()
            and not self._was_there(one)
            # An orphan's zombie is its parent's, here init's, to reap; our child's is ours.
            and (one.pid in children if one.zombie else one.pid in own or self._proved(one) or self._near(one))
        ]

    def _was_there(self, one: Process) -> bool:
        before = self._before.processes.get(one.pid)
        return before is not None and before.started == one.started

    def _proved(self, one: Process) -> bool:
        return belongs_to(one, self._directory)

    def _near(self, one: Process) -> bool:
        return processes.stands_on(one.pid, self._directory)

    def _thread_leaks(self, grace: float) -> list[str]:
        new = [thread for thread in threading.enumerate() if thread not in self._before.threads]
        for thread in new:
            thread.join(grace)
        return [f"thread {thread.name}" for thread in new if thread.is_alive()]

    def _descriptor_leaks(self) -> list[str]:
        if not self._new_descriptors():
            return []
        gc.collect()  # dear, so only when something is there: a cycle may hold a descriptor a little longer
        return [f"descriptor {fd} of the test process: {target}" for fd, target in self._new_descriptors()]

    def _new_descriptors(self) -> list[tuple[int, str]]:
        return [(fd, what) for fd, what in _descriptors().items() if self._before.descriptors.get(fd) != what]

    def _mounts(self) -> list[str]:
        new = _mounts() - self._before.mounts
        return [f"mount {point}" for point in sorted(new) if point.startswith(self._directory + "/")]


def belongs_to(one: Process, directory: str) -> bool:
    """It is proved that it was started by the test that had this directory: by its environment, or by its socket."""
    if processes.carries(one.pid, directory):
        return True
    return one.name == _TMUX_SERVER and any(path.startswith(directory + "/") for path in sockets.listening(one.pid))


def _descriptors() -> dict[int, str]:
    found = {}
    for entry in os.listdir("/proc/self/fd"):
        try:
            found[int(entry)] = os.readlink(f"/proc/self/fd/{entry}")
        except OSError:
            continue  # the one with which the directory was read
    return found


def _mounts() -> set[str]:
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return {line.split()[4] for line in file}
