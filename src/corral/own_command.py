"""How this very Corral is started, wherever it is installed and whatever is on anybody's PATH."""

from __future__ import annotations

import os
import sys


def own_program() -> str | None:
    """The path of its `corral`; None if it was installed without one."""
    script = os.path.join(os.path.dirname(sys.executable), "corral")
    return script if os.access(script, os.X_OK) else None


def own_command(*words: str) -> list[str]:
    """The command that runs it with these words."""
    program = own_program()
    if program is not None:
        return [program, *words]
    # -P: it starts in a workspace, and a file there must not be taken for a module.
    return [sys.executable, "-P", "-m", "corral", *words]
