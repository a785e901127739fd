"""Starting a tmux server that orphans of its panes are handed to, and waiting until it takes connections."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence

from corral.adapters.tmux import identity, native_birth
from corral.background import reap_when_it_ends
from corral.domain.errors import UnavailableError

_SECONDS = 5.0
#: Between two tries to connect, which cost next to nothing; whoever starts a team waits for this.
_DELAY = 0.001
#: Of what a server says that does not come up.
_LONGEST = 2000

_PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None).prctl


async def start_server(argv: Sequence[str], socket_path: str, environment: Mapping[str, str]) -> None:
    """Start the server (`argv` has -D: it stays the process that we start) and return when it listens.

    It has a session of its own and outlives whoever started it. Raises UnavailableError if it does not come up.
    """
    file = shutil.which(argv[0], path=environment.get("PATH"))
    if file is None:
        raise not_there(argv[0])
    try:
        server = _cloned(file, argv, environment) or _forked(argv, environment)
    except OSError as error:
        raise _not_started(error.strerror or str(error)) from error
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _SECONDS
    try:
        while identity.server_behind(socket_path)[0] == "absent":
            if server.poll() is not None:
                said = await asyncio.to_thread(server.words)
                raise _not_started(said)
            if loop.time() > deadline:
                server.kill()
                raise UnavailableError(f"tmux did not listen at {socket_path} within {_SECONDS:.0f} s", "try again")
            await asyncio.sleep(_DELAY)
    finally:
        server.close()
        reap_when_it_ends(server)


def not_there(tmux: str) -> UnavailableError:
    """The error for a tmux that cannot be found: the remedy depends on who named it."""
    if "/" in tmux:
        remedy = "set CORRAL_TMUX to a tmux that is there, or unset it; then `corral daemon stop`, and try again"
    else:
        remedy = (
            "install tmux 3.2a or later (apt-get install tmux); if it is on your PATH, the keeper has another one: "
            "`corral daemon stop`, and try again"
        )
    return UnavailableError(f"{tmux} is not installed, or not on the keeper's PATH", remedy)


class _Server:
    """A tmux server that was cloned, from its birth to its end."""

    def __init__(self, pid: int, words: int, image: native_birth.ServerImage) -> None:
        self.pid = pid
        self._words = words
        #: It may be what the child reads still.
        self._image = image
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, as `subprocess` counts; None as long as it runs."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def kill(self) -> None:
        """End it. It is our child and not reaped yet: the pid is its own."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def words(self) -> str:
        """What it said, once it has ended."""
        if self._image.error:
            return os.strerror(self._image.error)
        return _in_words(os.read(self._words, _LONGEST), self._code)

    def close(self) -> None:
        """Do not listen to it any more."""
        os.close(self._words)


class _ForkedServer(subprocess.Popen[bytes]):
    """The same, where it has to be forked."""

    def words(self) -> str:
        assert self.stderr is not None
        return _in_words(self.stderr.read(_LONGEST), self.returncode)

    def close(self) -> None:
        assert self.stderr is not None
        self.stderr.close()


def _cloned(file: str, argv: Sequence[str], environment: Mapping[str, str]) -> _Server | None:
    """The server, started in no time; None where that cannot be."""
    if native_birth.clone is None:
        return None
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    pid = nothing = -1
    try:
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        image = native_birth.ServerImage(
            os.fsencode(file),
            [os.fsencode(word) for word in argv],
            [os.fsencode(f"{name}={value}") for name, value in environment.items()],
            nothing=nothing,
            says=theirs,
        )
        pid = native_birth.clone(image.address)
        return _Server(pid, ours, image) if pid > 0 else None
    finally:
        if nothing >= 0:
            os.close(nothing)
        os.close(theirs)
        if pid <= 0:
            os.close(ours)


def _forked(argv: Sequence[str], environment: Mapping[str, str]) -> _ForkedServer:
    return _ForkedServer(
        list(argv),
        preexec_fn=_take_orphans,  # one system call, looked up before the fork: nothing another thread could hold
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
        env=dict(environment),
    )


def _take_orphans() -> None:
    """Have the kernel hand this process whatever loses its parent below it.

    What an agent starts and abandons (a double fork) is given a new parent: the nearest ancestor that asked for it.
    Asked for by a team's tmux server, whatever descends from one of its panes stays below it, whoever died between.
    The wish survives an exec and not a fork, and tmux has no option for it: so it is made in between. `native_birth`
    makes it as well.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _not_started(why: str) -> UnavailableError:
    return UnavailableError(f"tmux could not be started: {why}", "is it installed, and 3.2a or newer?")


def _in_words(said: bytes, code: int | None) -> str:
    return said.decode("utf-8", "replace").strip() or f"exit code {code}"
