"""Finding and reading the `corral.toml` that a command is about."""

import os

from corral.cli.output import is_utf8
from corral.cli.targets import SPEC, absolute, here, nearest
from corral.domain.errors import CorralError, NotFoundError, WrongUseError
from corral.domain.spec_text import MAX_BYTES, decode


def chosen(given: str | None) -> str:
    """The absolute path of the file to use; `NotFoundError` if none is given and none is near."""
    path = nearest() if given is None else absolute(given)
    if path is None:
        raise NotFoundError(
            f"there is no {SPEC} in {here()} or above it", "corral init writes one, -f FILE names another"
        )
    if not is_utf8(path):
        raise WrongUseError(f"the path {path!r} is not UTF-8", "move the file to a directory that has a readable name")
    if os.path.isdir(path):
        inside = os.path.join(str(given), SPEC)
        remedy = f"-f {inside}" if os.path.isfile(inside) else f"-f names the file itself, as in -f {inside}"
        raise WrongUseError(f"{path} is a directory, not a file that declares a team", remedy)
    return path


def read(path: str) -> str:
    """The text of the file at `path`."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}", "corral init writes one, -f FILE names another") from None
    except OSError as error:
        raise CorralError(f"cannot read {path}: {error.strerror}", "check what it is and who may read it") from None
    return decode(data, path)


def team_of(path: str) -> str:
    """The name of the team that the file at `path` declares; empty if it cannot be read or is wrong."""
    from corral.domain.spec import parse

    try:
        return parse(read(path), path).name if path else ""
    except CorralError:
        return ""
