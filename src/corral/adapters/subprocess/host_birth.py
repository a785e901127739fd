"""How a process is born: in its cgroup from the first moment, in a session of its own, with nothing of the host's.

The host puts itself into the state that the child is to find (directory, standard streams, limits), and the child has
nothing left to do but to begin a session and to become the program. What the host would ignore it catches, because a
program finds the default for a signal that its parent caught. Every other descriptor closes itself.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import struct
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from corral.adapters.machine_code import Image
from corral.adapters.subprocess import host_native
from corral.domain.environment import PROCESS_VARIABLE
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError

#: The kernel, or a filter in front of it, does not know clone3, or not with a cgroup. Then the child moves by itself.
_NO_CLONE3 = frozenset((errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.EOPNOTSUPP, errno.EACCES))
#: It is not the cgroup that refuses.
_SHORTAGES = frozenset((errno.EAGAIN, errno.ENOMEM))

#: What a child says that did not become its program: an error, as the kernel returns it, and from a fork also at what.
_ERROR, _STEP_AND_ERROR = struct.Struct("=q"), struct.Struct("=cq")
_ENTERING, _TERMINAL, _BECOMING = b"g", b"t", b"x"
#: That are remembered: each has some kilobytes.
_MOST_ENVIRONMENTS = 64


class Environment:
    """Variables, ready for the kernel."""

    __slots__ = ("path", "variables")

    def __init__(self, variables: Mapping[str, str]) -> None:
        #: Where a program is looked for.
        self.path = os.fsencode(variables.get("PATH") or os.defpath)
        self.variables = [
            os.fsencode(f"{name}={value}") for name, value in variables.items() if name != PROCESS_VARIABLE
        ]
        _refuse_nul(self.variables)


class Environments:
    """Reads environments. Most commands of an agent have the same one, which is read once."""

    def __init__(self) -> None:
        self._read: dict[str, Environment] = {}

    def of(self, text: str) -> Environment:
        """What a JSON object of strings stands for."""
        found = self._read.get(text)
        if found is None:
            if len(self._read) >= _MOST_ENVIRONMENTS:
                self._read.clear()
            found = self._read[text] = Environment(json.loads(text))
        return found


class Order:
    """What is to be executed, ready for the kernel."""

    __slots__ = ("argv", "directory", "file", "path", "program", "variables")

    def __init__(self, argv: Sequence[str], environment: Environment, process: str, directory: str) -> None:
        if not argv or not argv[0]:
            raise WrongUseError("there is no command to execute", "name a program")
        self.program = argv[0]
        self.argv = [os.fsencode(word) for word in argv]
        _refuse_nul(self.argv)
        self.directory = directory
        #: Where the program was found.
        self.file = self.argv[0]
        self.path = environment.path
        self.variables = [*environment.variables, f"{PROCESS_VARIABLE}={process}".encode()]

    def environment(self) -> dict[bytes, bytes]:
        """The variables, as Python takes them."""
        return dict(variable.split(b"=", 1) for variable in self.variables)


class Born:
    """A child that is about to become its program."""

    __slots__ = ("_image", "_order", "pid", "report")

    def __init__(self, pid: int, order: Order, report: int = -1, image: Image | None = None) -> None:
        self.pid = pid
        self._order = order
        #: At its end once it has become its program, with `failure` before it if it could not. -1: it has.
        self.report = report
        self._image = image

    def failure(self, said: bytes) -> CorralError | None:
        """What its report means; None for an empty one."""
        if len(said) == _STEP_AND_ERROR.size:
            step, error = _STEP_AND_ERROR.unpack(said)
        elif len(said) == _ERROR.size:
            (error,) = _ERROR.unpack(said)
            step = _TERMINAL if self._image is not None and host_native.without_terminal(self._image) else _BECOMING
        else:
            return None
        return _refusal(self._order, step, -error)


class Births:
    """Starts processes for the host, which has one thread and no descriptor that outlives an exec."""

    def __init__(self, open_files: tuple[int, int]) -> None:
        #: The limits for a child; the host has raised its own.
        self._open_files = open_files
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._errors = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 3)

    def bear(self, order: Order, stdin: int, output: int, *, terminal: bool, cgroup: str) -> Born:
        """Start it with these streams; `stdin` -1 is an empty one. Raises `CorralError` if it is refused at once."""
        try:
            with self._as_found_by_the_child(order.directory, self._null if stdin < 0 else stdin, output):
                order.file = _found(order)
                return _cloned(order, terminal=terminal, cgroup=cgroup)
        except OSError as error:
            raise _refusal(order, _BECOMING, error.errno or 0) from error

    @contextmanager
    def _as_found_by_the_child(self, directory: str, stdin: int, output: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            _enter(directory)
            os.dup2(stdin, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            resource.setrlimit(resource.RLIMIT_NOFILE, self._open_files)
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            os.dup2(self._null, 0)
            os.dup2(self._null, 1)
            os.dup2(self._errors, 2)
            os.chdir("/")


def _cloned(order: Order, *, terminal: bool, cgroup: str) -> Born:
    report, childs = os.pipe2(os.O_CLOEXEC)
    place = -1
    try:
        if cgroup:
            place = _opened(order, cgroup, os.O_PATH | os.O_DIRECTORY)
        image = host_native.image(
            order.file, order.argv, order.variables, terminal=terminal, report=childs, cgroup=place
        )
        pid = -errno.ENOSYS if host_native.clone is None else host_native.clone(image.address)
        if pid < 0:
            if -pid not in _NO_CLONE3:
                raise _refusal(order, _BECOMING if -pid in _SHORTAGES else _ENTERING, -pid)
            if not cgroup and not terminal:
                # It does all that is needed here, and is quicker than a fork.
                born = Born(os.posix_spawn(order.file, order.argv, order.environment(), setsid=True), order)
                os.close(report)
                return born
            pid = _forked(order, childs, terminal=terminal, cgroup=cgroup)
    except BaseException:
        os.close(report)
        raise
    finally:
        os.close(childs)
        if place >= 0:
            os.close(place)
    return Born(pid, order, report, image)


def _forked(order: Order, report: int, *, terminal: bool, cgroup: str) -> int:
    """The same where the kernel is of less help: the child moves itself before it becomes its program."""
    entering = _opened(order, f"{cgroup}/cgroup.procs", os.O_WRONLY) if cgroup else -1
    pid = os.fork()
    if pid == 0:
        step = _ENTERING
        try:
            if entering >= 0:
                os.write(entering, b"0")
            step = _TERMINAL
            os.setsid()
            if terminal:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            step = _BECOMING
            os.execve(order.file, order.argv, order.environment())  # noqa: S606 - that is its purpose
        except OSError as error:
            os.write(report, _STEP_AND_ERROR.pack(step, -(error.errno or 0)))
        finally:
            os._exit(127)
    if entering >= 0:
        os.close(entering)
    return pid


def _opened(order: Order, path: str, flags: int) -> int:
    """Open something of a cgroup."""
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as error:
        raise _refusal(order, _ENTERING, error.errno or 0) from error


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        kind = NotFoundError if error.errno in (errno.ENOENT, errno.ENOTDIR) else CorralError
        raise kind(
            f"the command cannot be started in {directory}: {error.strerror}", "name a directory that is there"
        ) from error


def _found(order: Order) -> bytes:
    """The program's file, looked for as the shell does, in the directory and by the PATH that it will have."""
    name = order.argv[0]
    if b"/" in name:
        return name
    candidates = [(directory or b".") + b"/" + name for directory in order.path.split(b":")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return candidate
    for candidate in candidates:
        if os.path.isfile(candidate):
            return candidate  # and the kernel will say why not
    raise NotFoundError(
        f"there is no program {order.program}",
        f"install it, or give its path; it was looked for in {os.fsdecode(order.path)}",
    )


def _refuse_nul(words: Sequence[bytes]) -> None:
    if any(b"\0" in word for word in words):
        raise WrongUseError("an argument or a variable has a NUL byte in it", "no program can be given one")


def _refusal(order: Order, step: bytes, number: int) -> CorralError:
    name, why = order.program, os.strerror(number)
    if step == _ENTERING:
        return CorralError(f"{name} cannot be started in its agent's cgroup: {why}", "`corral doctor` may tell why")
    if step == _TERMINAL:
        return CorralError(f"{name} cannot be given a terminal: {why}", "start it without one")
    if number in (errno.ENOENT, errno.ENOTDIR):
        # The file may be there, and what its first line names, or its loader, may not.
        if os.path.lexists(os.path.join(os.fsencode(order.directory), order.file)):
            return NotFoundError(f"{name} cannot run: what is to run it is not there", "what does its first line name?")
        return NotFoundError(f"there is no program {name}", "install it, or give its path")
    if number == errno.EACCES:
        return RefusedError(f"{name} may not be executed", "is it a program, and may you (chmod +x)?")
    if number == errno.ENOEXEC:
        return CorralError(f"{name} is no program for this machine, and has no #! line", "name what is to run it")
    if number == errno.EAGAIN:
        return RefusedError(f"{name} cannot be started: the limit of tasks is reached", "end something, or raise it")
    return CorralError(f"{name} cannot be started: {why}", "is the command too long, or the host short of something?")
