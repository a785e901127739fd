"""Reading what was kept of a trail elsewhere, to verify it with: a file of statements, or a directory of such files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from corral.domain.audit_checkpoints import LONGEST_STATEMENT
from corral.domain.audit_sequence import Place
from corral.domain.errors import NotFoundError, WrongUseError


class Elsewhere:
    """One place to read from; none at all if `path` is empty. `is_said` is False if it is only known from the
    configuration: then it may be empty or out of reach, and that is remarked on."""

    def __init__(self, path: str, *, is_said: bool) -> None:
        self._path = path
        self._is_said = is_said
        self._count = 0
        self._trouble = ""

    def statements(self) -> Iterator[tuple[Place, bytes]]:
        """The statements there, one a line, of a file or of all files of a directory."""
        self._count, self._trouble = 0, ""
        if not self._path:
            return
        try:
            for file in self._files():
                yield from self._lines(file)
        except OSError as error:
            if not self._is_said:
                self._trouble = str(error.strerror)
            elif isinstance(error, FileNotFoundError):
                raise NotFoundError(
                    f"there are no checkpoints at {self._path}", "give the file that they were kept in"
                ) from None
            else:
                raise WrongUseError(
                    f"the checkpoints at {self._path} cannot be read: {error.strerror}",
                    "give a file, or a directory, that you may read",
                ) from None
        if self._is_said and not self._count:
            raise WrongUseError(
                f"there is no checkpoint in {self._path}, so there is nothing to compare with",
                "give the file that checkpoint_command kept them in, or the checkpoint_directory (config.toml)",
            )

    def remark(self) -> str:
        """What they were compared with, once they were read; empty if with nothing."""
        if not self._path:
            return ""
        where = self._path if self._is_said else f"{self._path} (checkpoint_directory in config.toml)"
        if self._trouble:
            return f"it could not be compared with all checkpoints in {where}: {self._trouble}"
        if not self._count:
            return f"there is no checkpoint in {where} that it could be compared with"
        return f"compared with {self._count} {'checkpoint' if self._count == 1 else 'checkpoints'} in {where}"

    def _files(self) -> list[str]:
        if not os.path.isdir(self._path):
            return [self._path]
        paths = (os.path.join(self._path, name) for name in sorted(os.listdir(self._path)) if name[0] != ".")
        return [path for path in paths if os.path.isfile(path)]

    def _lines(self, file: str) -> Iterator[tuple[Place, bytes]]:
        with open(file, "rb") as reading:
            at = 0
            while line := reading.readline(LONGEST_STATEMENT + 1):
                at += 1
                if line.strip():
                    self._count += 1
                    yield Place(file=file, line=at), line.removesuffix(b"\n")
