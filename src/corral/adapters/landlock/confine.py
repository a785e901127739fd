"""Become a program that can touch some things and no others: `confine.py RULES PROGRAM [ARG…]`.

Run as a program of its own, without Corral around it, between the launch shell and the agent. What it does to itself
holds for the program that it becomes and for all that this starts, and cannot be undone: Landlock for files and TCP
ports, a filter of system calls for the network. RULES is JSON; `domain.confinement` makes it, and says what is in it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: The same numbers on every architecture that Linux has had since Landlock.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _PATH_RULE, _PORT_RULE, _BIND_TCP = 1, 1, 2, 1
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_FILTER = 38, 22, 2
#: The first version that knows of truncating (without which a file can be emptied that must not be written), of ports.
FILES_VERSION, PORTS_VERSION = 3, 4

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
#: Of a directory: removing, making and moving what is in it (`LANDLOCK_ACCESS_FS_REMOVE_DIR` to `_REFER`).
_CHANGE_DIR = ((1 << 14) - 1) & ~((1 << 4) - 1)
_TRUNCATE = 1 << 14
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WRITE = _WRITE_FILE | _CHANGE_DIR | _TRUNCATE
#: What there is of these for anything but a directory.
_OF_A_FILE = _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
#: Moving and linking from one directory to another: the one right that every Landlock takes away unless it is given.
_REFER, _REFER_VERSION = 1 << 13, 2
#: In rules: what is allowed.
_RIGHTS = {"r": _READ, "w": _WRITE, "rw": _READ | _WRITE, "names": _READ_DIR}

#: `struct landlock_ruleset_attr`: what is refused unless a rule allows it, of files and of the network.
_RULESET = struct.Struct("=QQ")
#: `struct landlock_path_beneath_attr`, which is packed; and `struct landlock_net_port_attr`.
_BENEATH, _PORT = struct.Struct("=Qi"), struct.Struct("=QQ")

#: For each machine what the kernel calls it in filters, and the numbers of `socket` and `socketpair` there.
#: `io_uring_setup` has one number everywhere.
_MACHINES = {"x86_64": (0xC000003E, 41, 53), "aarch64": (0xC00000B7, 198, 199)}
_IO_URING_SETUP = 425
#: From here on they are those of x32, a second set of the same calls.
_X32 = 0x40000000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _AF_SMC = 1, 2, 10, 16, 43
#: From here on a protocol is none of IP's, but TCP by another name: MPTCP, SMC.
_NO_PROTOCOL_OF_IP = 256
_EACCES, _ENOSYS, _EPROTONOSUPPORT = 13, 38, 93
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
#: As many as the kernel follows.
_MOST_LINKS = 40
#: A shell's words for a program that is not there, and for one that cannot be run.
_NOT_FOUND, _CANNOT_RUN = 127, 126


class CannotError(Exception):
    """What was declared cannot be had; says why."""


def version() -> int:
    """The version of Landlock that this kernel has; 0 if it has none, or it is switched off."""
    try:
        return _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    except OSError:
        return 0


def no_filter() -> str:
    """Why programs cannot be kept from making sockets here; empty if they can be."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        return f"Corral has no filter of system calls for {machine}"
    # Asked for with no filter at all: only a kernel that takes filters looks at where it should be.
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, None, 0, 0) != 0 and ctypes.get_errno() == 14:
        return ""
    return "this kernel takes no filter of system calls (seccomp)"


def confine(rules: dict[str, Any]) -> None:
    """Keep this process to the rules. Raises `CannotError` or `OSError`, and then nothing may be run."""
    read, write, ports = rules["read"], rules["write"], rules["ports"]
    needed = max(FILES_VERSION if read or write else 0, PORTS_VERSION if ports is not None else 0)
    if version() < needed:
        raise CannotError(f"this kernel has version {version()} of Landlock, and {needed} is needed")
    handled = (_READ if read else 0) | (_WRITE if write else 0)
    allowed = list(_opened(rules)) if handled else []
    if write:
        _have_temporary(rules)
    _no_new_privileges()
    if needed:
        wanted = _RULESET.pack(handled, _BIND_TCP if ports is not None else 0)[: 16 if ports is not None else 8]
        ruleset = _call(_CREATE_RULESET, wanted, ctypes.c_size_t(len(wanted)), ctypes.c_uint32(0))
        for descriptor, rights in allowed:
            if rights & handled:
                _add(ruleset, _PATH_RULE, _BENEATH.pack(rights & handled, descriptor))
            os.close(descriptor)
        for first, last in ports or ():
            for port in range(first, last + 1):
                _add(ruleset, _PORT_RULE, _PORT.pack(_BIND_TCP, port))
        _restrict(ruleset)
    elif not rules["network"] and version() >= _REFER_VERSION:
        _leave_others_alone()
    if not rules["network"]:
        _leave_the_network()
    elif ports is not None:
        _leave_other_tcp()


def main(arguments: list[str]) -> int:
    """Confine, and become the program. Comes back only if that cannot be done, with the exit code of a shell."""
    rules, *argv = arguments
    try:
        confine(json.loads(rules))
    except (OSError, ValueError, KeyError, CannotError) as error:
        sys.stderr.write(f"corral: {argv[0]} is not started: {error}\n")
        return _CANNOT_RUN
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - that is what it is for
    except FileNotFoundError:
        sys.stderr.write(f"{argv[0]}: not found\n")
        return _NOT_FOUND
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error}\n")
        return _CANNOT_RUN


def _opened(rules: dict[str, Any]) -> Iterable[tuple[int, int]]:
    """What is allowed: a descriptor of each file or directory, and which rights."""
    for path, word in rules["below"]:
        found = _below(rules["workspace"], path, _open_part if "w" in word else _found_part)
        if found is not None:
            yield _fitting(found, word)
    roots = _writable(rules)
    for path, word in rules["declared"]:
        try:
            yield _fitting(_open_safely(path, roots), word)
        except OSError as error:
            raise CannotError(f"{path}, which [agents.….access] declares, cannot be opened: {error.strerror}") from None
    for path, word in rules["besides"]:
        # What is not there, or not to be reached by this user, need not be allowed. What has a slash at its end is the
        # agent's own to make.
        try:
            if path.endswith("/"):
                os.makedirs(path, mode=0o700, exist_ok=True)
            found = _open_safely(path, roots)
        except OSError:
            continue
        yield _fitting(found, word)


def _writable(rules: dict[str, Any]) -> list[str]:
    """Where the agent may write, if that is not everywhere: what is a link there may be of its making."""
    if not rules["write"]:
        return []
    written = [path for path, word in [*rules["declared"], *rules["besides"]] if "w" in word]
    written += [os.path.join(rules["workspace"], path) for path, word in rules["below"] if "w" in word]
    return [os.path.realpath(path) for path in written]


def _open_safely(path: str, roots: Sequence[str]) -> int:
    """Open what is at `path`, through links of the person's and through none that the agent could have made."""
    at, left, links = "/", [part for part in path.split("/") if part not in ("", ".")], 0
    while left:
        part, *left = left
        if part == "..":
            at = os.path.dirname(at)
            continue
        step = os.path.join(at, part)
        if not os.path.islink(step):
            at = step
            continue
        links += 1
        if links > _MOST_LINKS or any(_is_within(at, root) for root in roots):
            raise CannotError(f"{path} goes through the symbolic link {step}, which its agent could have made")
        target = os.readlink(step)
        at, left = "/" if target.startswith("/") else at, [*(p for p in target.split("/") if p not in ("", ".")), *left]
    found = os.open(at, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.readlink(f"/proc/self/fd/{found}") != at:  # somebody changed it meanwhile
        raise CannotError(f"{path} does not stay where it is")
    return found


def _fitting(descriptor: int, word: str) -> tuple[int, int]:
    is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    return descriptor, _RIGHTS[word] if is_directory else _RIGHTS[word] & _OF_A_FILE


def _below(workspace: str, path: str, step: Callable[[int, str, str], int | None]) -> int | None:
    """What is at `path` in the workspace, on a way without symbolic links: those are the agent's to make."""
    at: int | None = os.open(workspace, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in path.split("/") if path else ():
        above = at
        if above is None:
            return None
        try:
            at = step(above, part, path)
        finally:
            os.close(above)
    return at


def _found_part(above: int, part: str, path: str) -> int | None:
    """One step to what is to be read; None if it is not there."""
    try:
        found = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(os.fstat(found).st_mode):
        raise CannotError(f"{path}, which [agents.….access] declares, goes through the symbolic link {part}")
    return found


def _open_part(above: int, part: str, path: str) -> int | None:
    """One step to where is to be written; what is not there is made."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=above)
    found = _found_part(above, part, path)
    if found is None or not stat.S_ISDIR(os.fstat(found).st_mode):
        raise CannotError(f"{path}, which [agents.….access] declares, is not a directory")
    return found


def _have_temporary(rules: dict[str, Any]) -> None:
    """Directories for temporary files, and for caches, unless the agent has some that it may write to."""
    if not os.path.isdir(rules["cache"]):
        os.environ["XDG_CACHE_HOME"] = os.path.join(rules["temporary"], "cache")
        os.makedirs(os.environ["XDG_CACHE_HOME"], mode=0o700, exist_ok=True)
    said = os.environ.get("TMPDIR")
    if said and any(_is_within(said, root) for root in _writable(rules)):
        return
    os.makedirs(rules["temporary"], mode=0o700, exist_ok=True)
    for name in ("TMPDIR", "TMP", "TEMP"):
        os.environ[name] = rules["temporary"]


def _is_within(path: str, root: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(root)
    return real == top or real.startswith(top.rstrip("/") + "/")


def _leave_others_alone() -> None:
    """Have a Landlock that takes nothing away of files: who is in one can trace no process that is not.

    Else another process of the same user would make the sockets that this one must not.
    """
    ruleset = _call(_CREATE_RULESET, _RULESET.pack(_REFER, 0)[:8], ctypes.c_size_t(8), ctypes.c_uint32(0))
    top = os.open("/", os.O_PATH | os.O_CLOEXEC)
    _add(ruleset, _PATH_RULE, _BENEATH.pack(_REFER, top))
    os.close(top)
    _restrict(ruleset)


def _restrict(ruleset: int) -> None:
    _call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)


def _leave_the_network() -> None:
    """From now on there are no sockets but local ones: not for IP, nor for whatever else leads out of the host."""
    _, socket, socketpair = _MACHINES[os.uname().machine]
    _filter(
        (0x15, 6, 0, _IO_URING_SETUP),  # it makes sockets that no filter sees
        (0x15, 1, 0, socketpair),
        (0x15, 0, 3, socket),
        (0x20, 0, 0, 16),  # its first argument: the family
        (0x15, 1, 0, _AF_UNIX),
        (0x15, 0, 2, _AF_NETLINK),
        refusal=_EACCES,
    )


def _leave_other_tcp() -> None:
    """From now on TCP is TCP: Landlock does not look at the ports of MPTCP and SMC, to which TCP can connect."""
    _, socket, _ = _MACHINES[os.uname().machine]
    _filter(
        (0x15, 8, 0, _IO_URING_SETUP),
        (0x15, 0, 6, socket),
        (0x20, 0, 0, 16),  # the family
        (0x15, 6, 0, _AF_SMC),
        (0x15, 1, 0, _AF_INET),
        (0x15, 0, 2, _AF_INET6),
        (0x20, 0, 0, 32),  # the third argument: the protocol
        (0x35, 2, 0, _NO_PROTOCOL_OF_IP),
        refusal=_EPROTONOSUPPORT,
    )


def _filter(*looks: tuple[int, int, int, int], refusal: int) -> None:
    """Look at every system call. Behind `looks` it is allowed; one further it is unknown, and one more it is refused.

    A step loads, or compares and jumps so many ahead if it is (not) so, or returns: `struct sock_filter`.
    """
    refuse, unknown = _REFUSE | refusal, _REFUSE | _ENOSYS
    program: Sequence[tuple[int, int, int, int]] = (
        (0x20, 0, 0, 4),  # the architecture: calls of another have other numbers
        (0x15, 1, 0, _MACHINES[os.uname().machine][0]),
        (0x06, 0, 0, unknown),
        (0x20, 0, 0, 0),  # the number of the call
        (0x35, len(looks) + 1, 0, _X32),
        *looks,
        (0x06, 0, 0, _ALLOW),
        (0x06, 0, 0, unknown),
        (0x06, 0, 0, refuse),
    )
    raw = b"".join(struct.pack("=HBBI", *step) for step in program)
    filters = ctypes.create_string_buffer(raw, len(raw))
    described = struct.pack("@HP", len(program), ctypes.addressof(filters))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, described, 0, 0))


def _no_new_privileges() -> None:
    # Without it a program with more rights than ours could be had to do what we must not.
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


_libc = ctypes.CDLL(None, use_errno=True)


def _add(ruleset: int, kind: int, rule: bytes) -> None:
    _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(kind), rule, ctypes.c_uint32(0))


def _call(number: int, *arguments: object) -> int:
    return _check(_libc.syscall(ctypes.c_long(number), *arguments))


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
