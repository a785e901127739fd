"""The cgroup of one process: made for it, and removed as soon as nothing is in it."""

from __future__ import annotations

import contextlib
import errno
import os
import select
from collections.abc import Callable

from corral.adapters.subprocess.host_loop import Loop
from corral.domain.errors import CorralError


def make(parent: str, process: str) -> str:
    """Its directory, below that of the agent."""
    path = f"{parent}/process-{process}"
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
    except OSError as error:
        raise CorralError(
            f"{process} cannot have a cgroup in {parent}: {error.strerror}", "`corral doctor` may tell why"
        ) from error
    return path


def remove(path: str) -> bool:
    """Remove it with all that was made below it; false while something is in it."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            return False  # it is not ours to remove any more
    else:
        return True
    # It is in use, or there are others below it. Few make those, so the host does not have this loaded before.
    from corral.adapters.cgroup.tree import Cgroup

    group = Cgroup(name=path, path=path)
    return not group.populated() and group.remove()


def remove_if_alone(path: str) -> bool:
    """Remove it if nothing is in it and nothing was made below it, which is how most commands leave it."""
    try:
        os.rmdir(path)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def remove_when_empty(path: str, loop: Loop, removed: Callable[[], None]) -> None:
    """Remove it now, or when the kernel says that nothing runs in it any more; then call back."""
    if remove(path):
        removed()
        return
    try:
        events = os.open(f"{path}/cgroup.events", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        removed()
        return

    def changed(_: int) -> None:
        with contextlib.suppress(OSError):  # read through this descriptor, the file is quiet until the next change
            os.pread(events, 4096, 0)
        if remove(path):
            loop.let_go(events)
            os.close(events)
            removed()

    loop.watch(events, select.EPOLLPRI, changed)
    changed(0)
