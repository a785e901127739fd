"""What a child does before it becomes its program, where that child shares our memory: as the processor executes it.

A fork copies the page tables of a process, and then whatever either of the two touches; Python in the child touches a
lot. A child that shares the memory copies nothing, but no Python can run in it, and no function of a library: only
system calls, without a stack. So a *listing* has its instructions, each with what it means beside it. It is given the
address of some words, clones as the first of them says, and returns the pid, or an error as a negative number. The
child has no signal handlers: nothing else of ours can run in it either.

For x86-64. Elsewhere, and where memory cannot be made executable, there is none, and whoever needs a child forks.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
from collections.abc import Callable, Sequence

_CLONE_VM, _CLONE_CLEAR_SIGHAND, _CLONE_INTO_CGROUP = 0x100, 0x100000000, 0x200000000
#: `struct clone_args` (linux/sched.h), of which three are used, and as long as kernels know it that know cgroups.
_CLONE_ARGUMENTS = 11
_FLAGS, _EXIT_SIGNAL, _CGROUP = 0, 4, 10


class CloneArguments:
    """How a child is made. To be held on to until it has been."""

    __slots__ = ("_words",)

    def __init__(self, cgroup: int = -1) -> None:
        words = (ctypes.c_uint64 * _CLONE_ARGUMENTS)()
        words[_FLAGS] = _CLONE_VM | _CLONE_CLEAR_SIGHAND
        words[_EXIT_SIGNAL] = signal.SIGCHLD
        if cgroup >= 0:
            words[_FLAGS] |= _CLONE_INTO_CGROUP
            words[_CGROUP] = cgroup
        self._words = words

    @property
    def address(self) -> int:
        return ctypes.addressof(self._words)

    @property
    def size(self) -> int:
        return ctypes.sizeof(self._words)


def strings(those: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    """An argv or an environment, as the kernel takes it."""
    return (ctypes.c_char_p * (len(those) + 1))(*those, None)


def loaded(listing: str) -> Callable[[int], int] | None:
    """What the listing does, to be called with the address of its words. None where that cannot be."""
    if os.uname().machine != "x86_64":
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page.write(bytes.fromhex("".join(line.split()[0] for line in listing.splitlines() if line)))
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    access = mmap.PROT_READ | mmap.PROT_EXEC
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, access):
        return None
    # With the interpreter's lock held: to let go of it takes longer than the call.
    function = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(address)

    def call(words: int, _held: mmap.mmap = page) -> int:
        pid: int = function(words)
        return pid

    return call
