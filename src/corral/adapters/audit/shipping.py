"""Taking checkpoints off the host: to a program, on its standard input, or into a directory, a file each.

What is in the directory is evidence, and stays as it is: another checkpoint of the same number does not replace it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Sequence

from corral.adapters.audit.files import write_all
from corral.adapters.audit.shipped import name_of
from corral.domain import audit_checkpoints
from corral.domain.errors import BrokenTrailError, CorralError

#: Longer than it takes to hand a line to somebody who is there.
_SECONDS = 20.0
#: The programs of the system, and nothing of whoever started the daemon: its environment may hold secrets.
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
_LAST_WORDS = 200


class Shipper:
    """Ships a checkpoint in every way that is configured. It waits; give it a thread of its own."""

    def __init__(self, command: Sequence[str], directory: str) -> None:
        self._command = list(command)
        self._directory = directory

    def __call__(self, line: bytes) -> None:
        """Ship one, in each way whatever becomes of the other; `CorralError` says which of them failed. To ship it
        again does no harm. `BrokenTrailError` if another checkpoint of that number was shipped before, which stays.
        """
        failed: list[CorralError] = []
        for is_wanted, way in ((self._command, self._give), (self._directory, self._put)):
            try:
                if is_wanted:
                    way(line)
            except CorralError as error:
                failed.append(error)
        if failed:
            kind = BrokenTrailError if any(isinstance(one, BrokenTrailError) for one in failed) else CorralError
            raise kind("; ".join(one.message for one in failed), "; ".join(one.remedy for one in failed))

    def _put(self, line: bytes) -> None:
        signed = audit_checkpoints.read(line.removesuffix(b"\n"))
        assert not isinstance(signed, str), "the trail ships what it signed"
        number = signed.statement.checkpoint
        path = os.path.join(self._directory, name_of(number))
        try:
            if not _is_put(path, line) and _contents(path) != line:
                raise BrokenTrailError(
                    f"{path} was shipped before, and is another checkpoint than the one that was signed now: the trail "
                    "was put back to an earlier state, or another one is shipped to the same directory",
                    f"corral audit verify --checkpoints {self._directory} says more. Keep the trail and that directory "
                    "as they are, elsewhere",
                )
        except OSError as error:
            raise CorralError(
                f"checkpoint {number} could not be put into {self._directory}: {error.strerror}", _remedy(error)
            ) from error

    def _give(self, line: bytes) -> None:
        program, remedy = self._command[0], "look at checkpoint_command below [audit] in config.toml"
        try:
            done = subprocess.run(
                self._command,
                input=line,
                env=_ENVIRONMENT,
                cwd="/",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_SECONDS,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise CorralError(f"{program} did not take a checkpoint within {_SECONDS:g} s", remedy) from None
        except OSError as error:
            raise CorralError(f"{program} could not be run: {error.strerror}", remedy) from error
        if done.returncode != 0:
            said = done.stderr[-_LAST_WORDS:].decode("utf-8", "replace").strip()
            raise CorralError(f"{program}: exit code {done.returncode}{': ' + said if said else ''}", remedy)


def _remedy(error: OSError) -> str:
    remedy = "look at checkpoint_directory below [audit] in config.toml"
    if error.errno != errno.EROFS:
        return remedy
    return f"{remedy}; on a shared server, sudo corral host setup has the daemon's unit let it write there"


def _is_put(path: str, line: bytes) -> bool:
    """Put a file there, whole or not at all; False if there is one already."""
    if os.path.lexists(path):
        return False
    # With a dot before it, it is no checkpoint for whoever looks meanwhile, nor if a crash leaves it.
    new = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        write_all(handle, line)
        os.fsync(handle)
    finally:
        os.close(handle)
    try:
        os.link(new, path)  # where `rename` would replace what somebody has put there since
    except FileExistsError:
        return False
    except OSError:
        os.rename(new, path)  # a file system that has no links
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
    return True


def _contents(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(audit_checkpoints.LONGEST_STATEMENT + 2)
