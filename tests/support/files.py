"""Removing what a test made, whatever modes it left behind."""

import os
import shutil
from collections.abc import Callable
from typing import Any


def remove_tree(path: str) -> None:
    """Remove the directory `path` and all below it, unwritable directories included."""

    def open_up(_action: Callable[..., Any], failed: str, _error: object) -> None:
        for directory in (os.path.dirname(failed), failed):
            if os.path.isdir(directory) and not os.path.islink(directory):
                os.chmod(directory, 0o700)
        if os.path.isdir(failed) and not os.path.islink(failed):
            shutil.rmtree(failed)
        elif os.path.lexists(failed):
            os.unlink(failed)

    shutil.rmtree(path, onerror=open_up)
