"""Become a program that can listen on some TCP ports and on no other: `own_ports.py 20000-20009 PROGRAM [ARG…]`.

Run as a program of its own, without Corral around it, between the launch shell and the agent. What it does to itself
(Landlock) holds for the program that it becomes and for all that this starts, and cannot be undone. It needs Linux 6.7.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

#: The same numbers on every architecture that Linux has had since Landlock.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PORT_RULE, _BIND_TCP = 1, 2, 1
_PR_SET_NO_NEW_PRIVS = 38
#: The first version that knows of ports.
NEEDED_VERSION = 4
#: `struct landlock_ruleset_attr`: what is refused unless a rule allows it, of files and of the network.
_RULESET = struct.Struct("=QQ")
#: `struct landlock_net_port_attr`: what is allowed, and at which port.
_ALLOWED = struct.Struct("=QQ")
#: What a shell says of a program that is not there, and of one that cannot be run.
_NOT_FOUND, _CANNOT_RUN = 127, 126


def version() -> int:
    """The version of Landlock that this kernel has; 0 if it has none, or it is switched off."""
    try:
        return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    except OSError:
        return 0


def restrict(first: int, last: int) -> None:
    """Keep this process from listening on any TCP port but these. Raises OSError if the kernel cannot."""
    if version() < NEEDED_VERSION:
        raise OSError("this kernel cannot tell ports apart (Landlock of Linux 6.7 or later is needed)")
    wanted = _RULESET.pack(0, _BIND_TCP)
    ruleset = _call(_CREATE_RULESET, wanted, ctypes.c_size_t(len(wanted)), ctypes.c_uint32(0))
    try:
        for port in range(first, last + 1):
            rule = _ALLOWED.pack(_BIND_TCP, port)
            _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PORT_RULE), rule, ctypes.c_uint32(0))
        # Without it a program with more rights than ours could be had to do what we must not.
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def main(arguments: list[str]) -> int:
    """Restrict, and become the program. Comes back only if that cannot be done, with the exit code of a shell."""
    ports, *argv = arguments
    first, _, last = ports.partition("-")
    try:
        restrict(int(first), int(last))
        os.execvp(argv[0], argv)  # noqa: S606 - that is what it is for
    except FileNotFoundError:
        sys.stderr.write(f"{argv[0]}: not found\n")
        return _NOT_FOUND
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{argv[0]}: {error}\n")
        return _CANNOT_RUN


_libc = ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
