"""The processes of a host: how they are born, how they end, and what becomes of their orphans.

A process is told to have ended once everything that it wrote before can be read, and its end is in the journal.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable, Sequence

from corral.adapters.subprocess import host_cgroup, host_recovery
from corral.adapters.subprocess import host_procfs as procfs
from corral.adapters.subprocess.host_birth import Births, Born, Environments, Order
from corral.adapters.subprocess.host_child import LARGE_PIPES, Child
from corral.adapters.subprocess.host_loop import Loop
from corral.adapters.subprocess.host_memory import Memory
from corral.adapters.subprocess.host_streams import open_streams
from corral.adapters.subprocess.records import ProcessRecord
from corral.domain.errors import CorralError, NotFoundError, RefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = Callable[[CorralError | None], None]

#: How long to wait for somebody else to reap a process, so that the kernel can tell how it ended.
_REAPED_SECONDS = 0.5


class _Unborn:
    """A child that may not have become its program yet."""

    __slots__ = ("answers", "born", "child")

    def __init__(self, child: Child, born: Born, answer: Answer) -> None:
        self.child = child
        self.born = born
        self.answers = [answer]


class Children:
    """All of them. They are remembered by a `Memory`, which tells everybody."""

    def __init__(self, loop: Loop, births: Births, memory: Memory) -> None:
        self._loop = loop
        self._births = births
        self._environments = Environments()
        self._memory = memory
        self._boot = procfs.boot_id()
        #: Those that are children of this process, and have not ended.
        self._by_pid: dict[int, Child] = {}
        self._unborn: dict[str, _Unborn] = {}
        self._large_pipes = 0

    def get(self, process: str) -> Child:
        """One of them, or `NotFoundError`."""
        try:
            return self._memory.children[process]
        except KeyError:
            raise NotFoundError(f"there is no process {process}", "`corral proc ls` shows what there is") from None

    def answered(self, processes: Sequence[str]) -> None:
        """Somebody has all of these; one that is forgotten already is none of them."""
        for process in processes:
            child = self._memory.children.get(process)
            if child is not None:
                child.answered = True

    # How they are born

    def start(self, wanted: dict[str, Any], answer: Answer) -> None:
        """Start one, and answer when it runs its program or cannot. One that is there is not started twice."""
        process = wanted["process"]
        if process in self._unborn:
            self._unborn[process].answers.append(answer)
            return
        if process in self._memory.children:
            answer(None)
            return
        environment = self._environments.of(wanted["environment"])
        order = Order(wanted["argv"], environment, process, wanted["directory"])
        cgroup = host_cgroup.make(wanted["cgroup"], process) if wanted["cgroup"] else ""
        try:
            child, born = self._bear({**wanted, "cgroup": cgroup}, order)
        except BaseException:
            if cgroup:
                host_cgroup.remove(cgroup)
            raise
        if born.report < 0:
            self._memory.add(child)
            answer(None)
            return
        self._unborn[process] = unborn = _Unborn(child, born, answer)
        self._loop.watch(born.report, select.EPOLLIN, lambda _: self._reported(unborn))

    def _bear(self, wanted: dict[str, Any], order: Order) -> tuple[Child, Born]:
        tty, stdin = wanted["tty"], wanted["stdin"]
        try:
            streams = open_streams(tty=tty, stdin=stdin, columns=wanted["columns"], rows=wanted["rows"])
        except OSError as error:
            raise RefusedError(
                f"{order.program} cannot be started: {error.strerror}", "are there too many processes already?"
            ) from error
        record = ProcessRecord(
            {
                **wanted,
                "pid": 0,
                "start": 0,
                "boot": self._boot,
                "host": os.getpid(),
                "output": streams.name,
                "stdin": stdin or tty,
                "started_at": time.time(),
            }
        )
        self._memory.intend(record)
        try:
            born = self._births.bear(
                order, streams.childs_stdin, streams.childs_output, terminal=tty, cgroup=wanted["cgroup"]
            )
        except BaseException:
            self._memory.give_up(record)
            streams.close()
            raise
        streams.close_childs()
        record.pid, record.start = born.pid, procfs.start_of(born.pid)
        child = self._child(record)
        child.stdin = streams.stdin
        child.read_from(streams.source)
        self._by_pid[born.pid] = child
        with contextlib.suppress(OSError):  # without a descriptor for it, SIGCHLD tells of its end
            child.pidfd = os.pidfd_open(born.pid)
            self._loop.watch(child.pidfd, select.EPOLLIN, lambda _: self._reap(child))
        return child, born

    def _child(self, record: ProcessRecord) -> Child:
        return Child(record, self._memory.output_for(record), self._loop, self._wrote, self._closed)

    def _reported(self, unborn: _Unborn) -> None:
        """It has become its program, or says why it could not."""
        error = unborn.born.failure(os.read(unborn.born.report, 64))
        self._loop.let_go(unborn.born.report)
        os.close(unborn.born.report)
        del self._unborn[unborn.child.record.process]
        if error is None:
            self._memory.add(unborn.child)
        for answer in unborn.answers:
            answer(error)

    # What they write

    def _wrote(self, child: Child) -> None:
        self._memory.look_at_trouble(child)
        child.tell_waiting()
        if child.writes_much and self._large_pipes < LARGE_PIPES:
            child.enlarge_pipe()
            self._large_pipes += child.large_pipe
        self._memory.make_room(child)

    def _closed(self, child: Child) -> None:
        child.record.closed = True
        child.record.end = child.output.end
        self._large_pipes -= child.large_pipe
        child.large_pipe = False
        if self._memory.knows(child):
            self._memory.closed(child)
            self._finish(child)

    # How they end

    def reap(self) -> None:
        """Take note of every child that has ended. An orphan that was handed to us has nobody else to do it."""
        while found := _ended_child():
            child = self._by_pid.get(found)
            if child is None:
                os.waitid(os.P_PID, found, os.WEXITED | os.WNOHANG)
            else:
                self._reap(child)

    def _reap(self, child: Child) -> None:
        unborn = self._unborn.get(child.record.process)
        if unborn is not None and unborn.child is child:
            self._reported(unborn)
        found = os.waitid(os.P_PID, child.record.pid, os.WEXITED | os.WNOHANG)
        if found is None:
            return
        del self._by_pid[child.record.pid]
        by_itself = found.si_code == os.CLD_EXITED
        self._ended(child, *((found.si_status, None) if by_itself else (None, found.si_status)))

    def _ended(self, child: Child, code: int | None, number: int | None) -> None:
        record = child.record
        child.let_go_of_end()
        child.drain()
        child.output.settle()
        record.running, record.code, record.signal, record.ended_at = False, code, number, time.time()
        record.end = child.output.end
        record.gone = bool(record.cgroup) and host_cgroup.remove_if_alone(record.cgroup)
        if self._memory.knows(child):
            self._memory.look_at_trouble(child)
            self._memory.ended(child)
            child.notice_end_of_output()
        else:  # it never became its program, and nobody was told of it
            self._memory.give_up(record)
            child.let_go()
            child.output.close()
        self._loop.later(0, lambda: self._clear(child))  # after that was told

    def _clear(self, child: Child) -> None:
        """Take away the cgroup of one that has ended, as soon as what it left behind has ended too."""

        def cleared() -> None:
            child.cleared = True
            if child.record.cgroup and not child.record.gone:
                self._memory.gone(child)
            self._finish(child)

        if child.record.cgroup and not child.record.gone:
            host_cgroup.remove_when_empty(child.record.cgroup, self._loop, cleared)
        else:
            cleared()

    def _finish(self, child: Child) -> None:
        if child.cleared and child.record.over and not child.finished and self._memory.knows(child):
            child.close_stdin()
            self._memory.finished(child)

    def what_runs(self) -> list[str]:
        """Ids of all of which something runs; orphans that may be anybody's are named as such."""
        self.reap()
        found = [process for process, child in self._memory.children.items() if _runs(child)]
        found += list(self._unborn)
        orphans = set(procfs.children()) - set(self._by_pid)
        return found or [f"pid {pid}" for pid in sorted(orphans)]

    @property
    def idle(self) -> bool:
        """True if nothing runs, and nobody holds the output of anything open."""
        return not self.what_runs() and all(child.source < 0 for child in self._memory.children.values())

    def forget(self, processes: Sequence[str]) -> None:
        """Drop what is known of these; of none if something of one runs."""
        found = [self.get(process) for process in processes]
        for child in found:
            if _runs(child):
                raise RefusedError(f"{child.record.process} still runs", "end it first: corral proc kill")
        self._memory.forget(found)

    # Those of a host before us

    def find_again(self, records: Sequence[ProcessRecord]) -> None:
        """Go on with the processes of a host that was killed, as far as they can be proved to be there."""
        recovery = host_recovery.Recovery(self._boot)
        for record in records:
            self._memory.heed(record)  # before one of them is judged by what another was started with
        for record in records:
            child = self._child(record)
            child.output.go_on()
            record.end = child.output.end
            record.trouble = ""
            self._memory.restore(child)
            if record.running:
                if not record.pid:
                    recovery.find_leader(record)
                self._watch_stranger(child, recovery)
            if not record.closed:
                source = recovery.output_of(record)
                if source < 0:
                    record.closed = True
                    child.lost = "its host was killed, and what it wrote last may be missing"
                    self._memory.look_at_trouble(child)
                else:
                    child.read_from(source)
            if not record.running:
                self._clear(child)
        if records:
            self._memory.write_all()

    def _watch_stranger(self, child: Child, recovery: host_recovery.Recovery) -> None:
        """It is not our child: the kernel tells when it ends, and how only if it is asked at the right moment."""
        record = child.record
        record.stdin = False  # that ended with the host that held it
        child.pidfd = recovery.pidfd_of(record)
        if child.pidfd < 0:
            record.code, record.signal = recovery.exit_of(record, -1) or (None, None)
            record.running, record.ended_at = False, time.time()
            return

        def ended(events: int) -> None:
            how = recovery.exit_of(record, child.pidfd)
            if how is None and not events & select.EPOLLHUP:
                self._loop.watch(child.pidfd, 0, ended)  # told once more when it was reaped
                self._loop.later(_REAPED_SECONDS, lambda: ended(select.EPOLLHUP) if child.pidfd >= 0 else None)
            else:
                self._ended(child, *(how or (None, None)))

        self._loop.watch(child.pidfd, select.EPOLLIN, ended)


def _runs(child: Child) -> bool:
    """True if the command runs, or something in its cgroup. What the kernel has yet to tell is seen already."""
    record = child.record
    return record.running or not (child.cleared or not record.cgroup or host_cgroup.remove(record.cgroup))


def _ended_child() -> int:
    """The pid of some child that waits to be reaped; 0 if there is none."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0
    return found.si_pid if found is not None else 0
