"""Whether agents can be kept to their ports on this host, and what that takes."""

from __future__ import annotations

import sys
from importlib.resources import files

from corral.adapters.landlock.own_ports import NEEDED_VERSION, version


def obstacle() -> str:
    """Why it cannot be done here; empty if it can be."""
    found = version()
    if found >= NEEDED_VERSION:
        return ""
    has = f"version {found} of Landlock" if found else "no Landlock, or it is switched off"
    return f"this kernel has {has}, and version {NEEDED_VERSION} (Linux 6.7) is needed"


def through(ports: str) -> list[str]:
    """What becomes a program that can listen on these ports (`20000-20009`) only; its argv comes behind."""
    return [sys.executable, "-I", "-S", str(files("corral.adapters.landlock") / "own_ports.py"), ports]
