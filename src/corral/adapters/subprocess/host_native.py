"""The child of a process host: in its cgroup, with its terminal, and then its program (`adapters.machine_code`).

A fork takes longer than a short command runs (0.8 ms of 1.4, as measured). `posix_spawn` avoids it, but waits for the
child, which is for ever if its cgroup is frozen; and before glibc 2.39 it knows no cgroups. Here nobody waits.

Where there is no machine code, `clone` is None, and the host forks.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral.adapters.machine_code import Image, loaded

#: Which word tells that it is to have a terminal.
_TERMINAL = 5

#: Bytes, and what they mean.
_LISTING = """
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
"""


def image(
    file: bytes, argv: Sequence[bytes], environment: Sequence[bytes], *, terminal: bool, report: int, cgroup: int
) -> Image:
    """For `clone`. `report` is where the child says why it did not become its program."""
    return Image(file, argv, environment, terminal, report, 0, cgroup=cgroup)


def without_terminal(child: Image) -> bool:
    """True as long as it waits for a terminal that it should have."""
    return bool(child.words[_TERMINAL])


clone = loaded(_LISTING)
