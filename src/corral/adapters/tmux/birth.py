"""Starting a tmux server that orphans of its panes are handed to, and waiting until it takes connections."""

from __future__ import annotations

import asyncio
import ctypes
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from corral.adapters.tmux import identity
from corral.background import reap_when_it_ends
from corral.domain.errors import UnavailableError

_SECONDS = 5.0
#: Between two tries to connect, which cost next to nothing; whoever starts a team waits for this.
_DELAY = 0.001

_PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None).prctl


async def start_server(argv: Sequence[str], socket_path: str, environment: Mapping[str, str]) -> None:
    """Start the server (`argv` has -D: it stays the process that we start) and return when it listens.

    It has a session of its own and outlives whoever started it. Raises UnavailableError if it does not come up.
    """
    if shutil.which(argv[0], path=environment.get("PATH")) is None:
        raise not_there(argv[0])
    server = subprocess.Popen(
        list(argv),
        preexec_fn=_take_orphans,  # one system call, looked up before the fork: nothing that another thread could hold
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
        env=dict(environment),
    )
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _SECONDS
    try:
        while identity.server_behind(socket_path)[0] == "absent":
            if server.poll() is not None:
                said = await asyncio.to_thread(_words_of, server)
                raise UnavailableError(f"tmux could not be started: {said}", "is it installed, and 3.2a or newer?")
            if loop.time() > deadline:
                server.kill()
                raise UnavailableError(f"tmux did not listen at {socket_path} within {_SECONDS:.0f} s", "try again")
            await asyncio.sleep(_DELAY)
    finally:
        if server.stderr is not None:
            server.stderr.close()
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


def _take_orphans() -> None:
    """Have the kernel hand this process whatever loses its parent below it.

    What an agent starts and abandons (a double fork) is given a new parent: the nearest ancestor that asked for it.
    Asked for by a team's tmux server, whatever descends from one of its panes stays below it, whoever died between.
    The wish survives an exec and not a fork, and tmux has no option for it: so it is made in between.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _words_of(server: subprocess.Popen[bytes]) -> str:
    assert server.stderr is not None
    return server.stderr.read(2000).decode("utf-8", "replace").strip() or f"exit code {server.returncode}"
