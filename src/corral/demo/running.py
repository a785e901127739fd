"""How a demo agent has programs run: it goes on listening meanwhile, and none of them outlives it."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from corral.demo.inbox import Inbox


class GiveUp(Exception):  # noqa: N818 - the outcome of a message
    """A step could not be done; the rest of the message is left."""


class Ran(NamedTuple):
    """What came of a program."""

    code: int
    output: str
    errors: str


def run(argv: Sequence[str], env: Mapping[str, str], inbox: Inbox, *, patient: bool = True) -> Ran:
    """Run a program to its end, with nothing to read.

    One that only waits is not worth being `patient` with: it is ended when the person interrupts.
    """
    # Most agents are started and never run anything; these take a while to load.
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            program = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=dict(env))
        except OSError as error:
            raise GiveUp(f"cannot run {os.path.basename(argv[0])}: {error.strerror}") from error
        with program, _ended_with(program.pid) as exited:
            try:
                while not inbox.wait(also=exited) and (patient or not inbox.interrupted):
                    pass
            finally:
                if program.poll() is None:
                    program.terminate()  # git removes its lock files on SIGTERM
        output.seek(0)
        errors.seek(0)
        said = [stream.read().decode("utf-8", "replace") for stream in (output, errors)]
        return Ran(program.returncode, *said)


@contextlib.contextmanager
def _ended_with(pid: int) -> Iterator[int]:
    """A descriptor that becomes readable when the process `pid`, a child of ours, has ended."""
    fd = os.pidfd_open(pid)
    try:
        yield fd
    finally:
        os.close(fd)
