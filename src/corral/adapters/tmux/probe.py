"""Does a tmux server answer? Found out by a plain client, before a control client is let near it.

tmux 3.3a has a server crash when a client goes away while a control client is still introducing itself: it notifies a
client that has no state yet (control_notify_client_detached). A server that was stopped or overloaded meets just that
when it goes on, with the last keeper's client gone and the new keeper's waiting. A plain client is never notified, and
once it is served everything that came before it has been dealt with.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence

from corral.domain.errors import UnavailableError


async def answer(argv: Sequence[str], environment: Mapping[str, str], seconds: float) -> int:
    """Run a tmux command that ends at once; its exit code, or UnavailableError if it does not within `seconds`."""
    try:
        client = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise UnavailableError(
            f"tmux cannot be run as {argv[0]}: {error.strerror}", "is tmux still installed? then try again"
        ) from error
    loop = asyncio.get_running_loop()
    descriptor = os.pidfd_open(client.pid)
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        raise UnavailableError(
            f"tmux did not answer within {seconds:.0f} s", "is the machine overloaded, or tmux stopped? then try again"
        ) from None
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        if client.poll() is None:
            client.kill()
            client.wait()
    return client.returncode
