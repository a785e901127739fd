"""A word for somebody who gives a path from the current directory where it counts from the top of the repository."""

import os

from corral.cli.output import plain, remark
from corral.cli.targets import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def remark_on_paths(paths: "Sequence[str]") -> None:
    """Note on standard error which of these are nothing at the top of the repository, but are there from here."""
    cwd = here()
    top = _top(cwd)
    if top is None or top == cwd:
        return
    meant = [path for path in paths if not os.path.lexists(os.path.join(top, path)) and os.path.lexists(path)]
    if meant:
        instead = os.path.relpath(meant[0], top) + ("/" if meant[0].endswith("/") else "")
        more = f" ({len(meant) - 1} more are so)" if len(meant) > 1 else ""
        remark(
            f"note: {plain(meant[0])} counts from the top of the repository, and is nothing there; "
            f"if the one in this directory is meant, write {plain(instead)}{more}"
        )


def _top(directory: str) -> "str | None":
    """The top of the working tree around a directory."""
    while not os.path.lexists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above
    return directory
