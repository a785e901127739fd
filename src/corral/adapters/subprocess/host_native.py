"""A child that copies nothing: it shares the host's memory until it becomes its program, and nobody waits for it.

A fork copies the host's page tables, and then whatever either of them touches. That takes longer than a short command
runs (0.8 ms of 1.4, as measured). `posix_spawn` avoids it, but waits for the child, which is for ever if its cgroup is
frozen; and before glibc 2.39 it knows no cgroups. No Python can run in a child that shares our memory. So what that
child does is here as the processor executes it: four system calls, no stack, no library. It has no signal handlers
(CLONE_CLEAR_SIGHAND): nothing else of the host can run in it either.

For x86-64. Elsewhere, and where memory cannot be made executable, `clone` is None, and the host forks.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
from collections.abc import Sequence

_CLONE_VM, _CLONE_CLEAR_SIGHAND, _CLONE_INTO_CGROUP = 0x100, 0x100000000, 0x200000000
#: `struct clone_args` (linux/sched.h), of which three are used, and as long as kernels know it that know cgroups.
_CLONE_ARGUMENTS = 11
_FLAGS, _EXIT_SIGNAL, _CGROUP = 0, 4, 10

#: What the child is given, as words that it finds from r8 on.
_WORDS = 8
_TERMINAL = 5

#: Bytes, and what they mean. Given the address of the words, it returns the pid, or an error as a negative number.
_LISTING = """
    f30f1efa                   endbr64
    4989f8                     mov   r8, rdi            ; system calls leave r8 alone
    498b38                     mov   rdi, [r8]          ; word 0: struct clone_args
    498b7008                   mov   rsi, [r8+8]        ; word 1: its size
    b8b3010000                 mov   eax, 435           ; clone3
    0f05                       syscall
    4885c0                     test  rax, rax
    7562                       jne   done               ; the parent: a pid, or an error
    b870000000                 mov   eax, 112           ; setsid
    0f05                       syscall
    4983782800                 cmp   [r8+40], 0         ; word 5: its standard input is a terminal
    7415                       je    become
    31ff                       xor   edi, edi
    be0e540000                 mov   esi, TIOCSCTTY
    31d2                       xor   edx, edx
    b810000000                 mov   eax, 16            ; ioctl
    0f05                       syscall
    4885c0                     test  rax, rax
    781b                       js    failed
    49c7402800000000   become: mov   [r8+40], 0         ; word 5: it has its terminal, or needs none
    498b7810                   mov   rdi, [r8+16]       ; word 2: the program's file
    498b7018                   mov   rsi, [r8+24]       ; word 3: argv
    498b5020                   mov   rdx, [r8+32]       ; word 4: the environment
    b83b000000                 mov   eax, 59            ; execve
    0f05                       syscall
    49894038           failed: mov   [r8+56], rax       ; word 7: why it did not become its program
    498b7830                   mov   rdi, [r8+48]       ; word 6: the descriptor to say so on
    498d7038                   lea   rsi, [r8+56]
    ba08000000                 mov   edx, 8
    b801000000                 mov   eax, 1             ; write
    0f05                       syscall
    bf7f000000                 mov   edi, 127
    b83c000000                 mov   eax, 60            ; exit
    0f05                       syscall
    c3                 done:   ret
"""


class Image:
    """What a child reads until it has become its program. It is to be held on to until then."""

    __slots__ = ("_held", "words")

    def __init__(
        self,
        file: bytes,
        argv: Sequence[bytes],
        environment: Sequence[bytes],
        *,
        terminal: bool,
        report: int,
        cgroup: int,
    ) -> None:
        clone = (ctypes.c_uint64 * _CLONE_ARGUMENTS)()
        clone[_FLAGS] = _CLONE_VM | _CLONE_CLEAR_SIGHAND
        clone[_EXIT_SIGNAL] = signal.SIGCHLD
        if cgroup >= 0:
            clone[_FLAGS] |= _CLONE_INTO_CGROUP
            clone[_CGROUP] = cgroup
        path = ctypes.create_string_buffer(file)
        vector = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
        variables = (ctypes.c_char_p * (len(environment) + 1))(*environment, None)
        self._held = (clone, path, vector, variables)
        self.words = (ctypes.c_int64 * _WORDS)(
            ctypes.addressof(clone),
            ctypes.sizeof(clone),
            ctypes.addressof(path),
            ctypes.addressof(vector),
            ctypes.addressof(variables),
            terminal,
            report,
            0,
        )

    @property
    def without_terminal(self) -> bool:
        """True as long as it waits for a terminal that it should have."""
        return bool(self.words[_TERMINAL])


class _Clone:
    """Starts children."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self._page.write(bytes.fromhex("".join(line.split()[0] for line in _LISTING.splitlines() if line)))
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        access = mmap.PROT_READ | mmap.PROT_EXEC
        if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, access):
            raise PermissionError(ctypes.get_errno(), "memory cannot be made executable")
        # With the interpreter's lock held: there is one thread, and to let go of it takes longer than the call.
        self._call = ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(address)

    def __call__(self, image: Image) -> int:
        """The pid of the child, or an error as a negative number."""
        pid: int = self._call(ctypes.addressof(image.words))
        return pid


def _loaded() -> _Clone | None:
    if os.uname().machine != "x86_64":
        return None
    try:
        return _Clone()
    except PermissionError:
        return None


clone = _loaded()
