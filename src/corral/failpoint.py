"""Places where a test can have this process die, to prove that dying there loses nothing (ADR 13).

`CORRAL_FAILPOINT=NAME:FILE` kills the process (SIGKILL, itself) when it comes to the point NAME while FILE exists, and
removes FILE first: whoever comes after it lives. Without the variable a point is one look at a string.
"""

from __future__ import annotations

import os
import signal

_ARMED, _, _FILE = os.environ.get("CORRAL_FAILPOINT", "").partition(":")


def point(name: str) -> None:
    """Die here if a test wants it."""
    if name == _ARMED:
        try:
            os.unlink(_FILE)
        except FileNotFoundError:
            return  # somebody died of it already
        os.kill(os.getpid(), signal.SIGKILL)
