"""What a child does before it becomes its program, where that child shares our memory: as the processor executes it.

A fork copies the page tables of a process, and then whatever either of the two touches; Python in the child touches a
lot. A child that shares the memory copies nothing, but no Python can run in it, and no function of a library: only
system calls, without a stack. So a *listing* has its instructions, each with what it means beside it. Both find the
address of an *image* of some words in r8, which system calls leave alone. The parent returns the pid, or an error as a
negative number. The child has no signal handlers: nothing else of ours can run in it either.

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

#: Bytes, and what they mean: how every child begins. What it does then comes behind it, and ends in an exit.
_BIRTH = """
    f30f1efa                   endbr64
    4989f8                     mov   r8, rdi
    498b38                     mov   rdi, [r8]          ; word 0: struct clone_args
    498b7008                   mov   rsi, [r8+8]        ; word 1: its size
    b8b3010000                 mov   eax, 435           ; clone3
    0f05                       syscall
    4885c0                     test  rax, rax
    7401                       je    child
    c3                         ret                      ; the parent: a pid, or an error
                        child:
"""


class Image:
    """What a child reads until it has become its program. It is to be held on to until then.

    Its words: how it is cloned, and how long that is; its program's file, argv and environment; and `more`.
    """

    __slots__ = ("_held", "words")

    def __init__(
        self, file: bytes, argv: Sequence[bytes], environment: Sequence[bytes], *more: int, cgroup: int = -1
    ) -> None:
        clone = (ctypes.c_uint64 * _CLONE_ARGUMENTS)()
        clone[_FLAGS] = _CLONE_VM | _CLONE_CLEAR_SIGHAND
        clone[_EXIT_SIGNAL] = signal.SIGCHLD
        if cgroup >= 0:
            clone[_FLAGS] |= _CLONE_INTO_CGROUP
            clone[_CGROUP] = cgroup
        path, vector, variables = ctypes.create_string_buffer(file), _strings(argv), _strings(environment)
        self._held = (clone, path, vector, variables)
        parts = [ctypes.addressof(path), ctypes.addressof(vector), ctypes.addressof(variables), *more]
        self.words = (ctypes.c_int64 * (2 + len(parts)))(ctypes.addressof(clone), ctypes.sizeof(clone), *parts)

    @property
    def address(self) -> int:
        """For what `loaded` gave."""
        return ctypes.addressof(self.words)


def _strings(those: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    """As the kernel takes them."""
    return (ctypes.c_char_p * (len(those) + 1))(*those, None)


def loaded(listing: str) -> Callable[[int], int] | None:
    """Makes a child that does what the listing says, called with the address of an image. None where that cannot be."""
    if os.uname().machine != "x86_64":
        return None
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page.write(_bytes_of(_BIRTH) + _bytes_of(listing))
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


def _bytes_of(listing: str) -> bytes:
    words = (line.split()[0] for line in listing.splitlines() if line)
    return bytes.fromhex("".join(word for word in words if not word.endswith(":")))
