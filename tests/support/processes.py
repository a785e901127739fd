"""Looking at processes through /proc, and ending those that are proved to be a test's own."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """A process, told from a later one with the same pid by its start time."""

    pid: int
    started: int
    parent: int
    name: str
    zombie: bool

    def describe(self) -> str:
        """A line that lets a person find it: pid, command line, why it is still there."""
        command = _read(f"/proc/{self.pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
        return f"pid {self.pid} ({self.name}{', zombie' if self.zombie else ''}): {command[:300]}"


def snapshot() -> dict[int, Process]:
    """Every process there is now, by pid."""
    found = (process(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
    return {one.pid: one for one in found if one}


def process(pid: int) -> Process | None:
    """The process `pid`, or None if there is none."""
    stat = _read(f"/proc/{pid}/stat").decode("utf-8", "replace")
    if not stat:
        return None
    # The name stands in parentheses and may hold anything, parentheses too.
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    fields = stat[stat.rindex(")") + 2 :].split()
    return Process(pid, int(fields[19]), int(fields[1]), name, fields[0] in "ZX")


def is_alive(pid: int) -> bool:
    """True if `pid` runs. A zombie does not, though /proc still shows it: some inits never reap."""
    found = process(pid)
    return found is not None and not found.zombie


def carries(pid: int, directory: str) -> bool:
    """True if the environment of `pid` names `directory` or something below it."""
    mark = os.fsencode(directory)
    return any(_names(value, mark) for value in _read(f"/proc/{pid}/environ").split(b"\0"))


def stands_on(pid: int, directory: str) -> bool:
    """True if `pid` was started with, works in or was loaded from something in `directory`."""
    mark = os.fsencode(directory)
    if any(_names(argument, mark) for argument in _read(f"/proc/{pid}/cmdline").split(b"\0")):
        return True
    return any(_below(_link(f"/proc/{pid}/{link}"), directory) for link in ("cwd", "exe"))


def descendants(of: int, among: dict[int, Process]) -> set[int]:
    """The pids of the children of `of`, their children and so on."""
    children: dict[int, list[int]] = {}
    for one in among.values():
        children.setdefault(one.parent, []).append(one.pid)
    found: set[int] = set()
    todo = [of]
    while todo:
        for child in children.get(todo.pop(), []):
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def child_of(pid: int) -> int:
    """The one child of `pid`."""
    (child,) = [one.pid for one in snapshot().values() if one.parent == pid]
    return child


def parent_of(pid: int) -> int:
    """Whose child it is."""
    return snapshot()[pid].parent


def wait_gone(processes: Iterable[Process], seconds: float) -> None:
    """Wait until all have ended, for `seconds` at most. Woken by the kernel, not by a clock."""
    until = time.monotonic() + seconds
    for one in processes:
        _with_pidfd(one, lambda fd: _readable(fd, until - time.monotonic()))


def kill(one: Process) -> None:
    """End `one` at once, and wait for it; a process that took over its pid is left alone."""

    def end(fd: int) -> None:
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        _readable(fd, 5)

    _with_pidfd(one, end)


def _with_pidfd(one: Process, action: Callable[[int], object]) -> None:
    try:
        fd = os.pidfd_open(one.pid)
    except ProcessLookupError:
        return
    try:
        now = process(one.pid)
        if now and now.started == one.started:
            action(fd)
    except ProcessLookupError:
        pass
    finally:
        os.close(fd)


def _readable(fd: int, seconds: float) -> None:
    select.select([fd], [], [], max(seconds, 0))


def _names(value: bytes, mark: bytes) -> bool:
    position = value.find(mark)
    while position >= 0:
        rest = value[position + len(mark) : position + len(mark) + 1]
        if rest in (b"", b"/", b":"):
            return True
        position = value.find(mark, position + 1)
    return False


def _below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + "/")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
