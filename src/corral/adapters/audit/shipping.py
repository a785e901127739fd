"""Taking checkpoints off the host: to a program, on its standard input, or into a directory, a file each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from corral.adapters.audit.files import write_all
from corral.domain import audit_checkpoints
from corral.domain.errors import CorralError

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
        """Ship one; `CorralError` says which way failed. To ship it again does no harm."""
        if self._directory:
            self._put(line)
        if self._command:
            self._give(line)

    def _put(self, line: bytes) -> None:
        signed = audit_checkpoints.read(line.removesuffix(b"\n"))
        assert not isinstance(signed, str), "the trail ships what it signed"
        number = signed.statement.checkpoint
        path = os.path.join(self._directory, f"checkpoint-{number:020d}.json")
        new = f"{path}.new"
        try:
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                write_all(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
            os.rename(new, path)
        except OSError as error:
            raise CorralError(
                f"checkpoint {number} could not be put into {self._directory}: {error.strerror}",
                "look at checkpoint_directory below [audit] in config.toml",
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
