"""Whether agents can be kept to what they may touch on this host, and what that takes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib.resources import files

import corral
from corral.adapters.landlock.confine import FILES_VERSION, PORTS_VERSION, no_filter, version
from corral.domain.access import Obstacles


def obstacles() -> Obstacles:
    """Why which part of it cannot be done here."""
    found = version()
    return Obstacles(
        files=_too_old(found, FILES_VERSION, "6.2"),
        # A filter as well: Landlock knows TCP by its own name alone.
        ports=_too_old(found, PORTS_VERSION, "6.7") or no_filter(),
        network=no_filter(),
    )


def through(rules: Mapping[str, object]) -> list[str]:
    """What becomes a program that is kept to the rules (`domain.confinement`); its argv comes behind."""
    program = str(files("corral.adapters.landlock") / "confine.py")
    return [sys.executable, "-I", "-S", program, json.dumps(rules)]


def programs(home: str) -> tuple[str, ...]:
    """Where Corral's own programs are, and what they read: agents run its hooks and its command line."""
    library = os.path.dirname(os.path.dirname(os.path.abspath(corral.__file__)))
    python = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)))
    return tuple(dict.fromkeys((*python, library, os.path.join(home, "hooks"))))


def _too_old(found: int, needed: int, linux: str) -> str:
    if found >= needed:
        return ""
    has = f"version {found} of Landlock" if found else "no Landlock, or it is switched off"
    return f"this kernel has {has}, and version {needed} (Linux {linux}) is needed"
