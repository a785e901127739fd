"""The child that becomes a tmux server, made without a fork (`adapters.machine_code`).

It begins a session, asks for the orphans below it, leaves no signal ignored that Python ignores, goes to `/`, has
nothing to read, and says what it has to say into a pipe. Where there is no machine code, `clone` is None.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from corral.adapters.machine_code import Image, loaded

#: `struct sigaction` of the kernel, all of it nought: the default.
_SIGACTION = 32
#: Which word tells why it did not become its program.
_ERROR = 9

#: Bytes, and what they mean.
_LISTING = """
    b870000000            mov   eax, 112        ; setsid
    0f05                  syscall
    bf24000000            mov   edi, PR_SET_CHILD_SUBREAPER
    be01000000            mov   esi, 1
    b89d000000            mov   eax, 157        ; prctl
    0f05                  syscall
    bf0d000000            mov   edi, SIGPIPE
    498b7028              mov   rsi, [r8+40]    ; word 5: struct sigaction
    31d2                  xor   edx, edx
    41ba08000000          mov   r10d, 8         ; the size of a set of signals
    b80d000000            mov   eax, 13         ; rt_sigaction
    0f05                  syscall
    bf19000000            mov   edi, SIGXFSZ
    b80d000000            mov   eax, 13         ; rt_sigaction
    0f05                  syscall
    498b7830              mov   rdi, [r8+48]    ; word 6: where it goes
    b850000000            mov   eax, 80         ; chdir
    0f05                  syscall
    498b7838              mov   rdi, [r8+56]    ; word 7: the descriptor of nothing
    31f6                  xor   esi, esi
    b821000000            mov   eax, 33         ; dup2
    0f05                  syscall
    498b7838              mov   rdi, [r8+56]
    be01000000            mov   esi, 1
    b821000000            mov   eax, 33         ; dup2
    0f05                  syscall
    498b7840              mov   rdi, [r8+64]    ; word 8: the descriptor of what it says
    be02000000            mov   esi, 2
    b821000000            mov   eax, 33         ; dup2
    0f05                  syscall
    498b7810              mov   rdi, [r8+16]    ; word 2: the program's file
    498b7018              mov   rsi, [r8+24]    ; word 3: argv
    498b5020              mov   rdx, [r8+32]    ; word 4: the environment
    b83b000000            mov   eax, 59         ; execve
    0f05                  syscall
    49894048              mov   [r8+72], rax    ; word 9: why it did not become its program
    bf7f000000            mov   edi, 127
    b83c000000            mov   eax, 60         ; exit
    0f05                  syscall
"""


class ServerImage(Image):
    """For `clone`."""

    __slots__ = ("_also_held",)

    def __init__(
        self, file: bytes, argv: Sequence[bytes], environment: Sequence[bytes], *, nothing: int, says: int
    ) -> None:
        default, place = ctypes.create_string_buffer(_SIGACTION), ctypes.create_string_buffer(b"/")
        self._also_held = (default, place)
        super().__init__(file, argv, environment, ctypes.addressof(default), ctypes.addressof(place), nothing, says, 0)

    @property
    def error(self) -> int:
        """Why it did not become its program, as a number of the kernel; 0 if it did, or has not got there."""
        return -self.words[_ERROR]


clone = loaded(_LISTING)
