"""Running the system's own tools, by their place in the system and in an environment of ours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from corral.domain.errors import CorralError, UnavailableError

#: Where tools for root are. The caller's PATH counts for nothing here.
_PLACES = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
_SECONDS = 120.0
NEEDED = ("visudo", "sudo", "systemctl", "loginctl", "useradd", "userdel", "groupadd", "groupdel", "gpasswd")


def missing() -> list[str]:
    """The tools that a set-up needs and this host lacks."""
    return [name for name in NEEDED if _place(name) is None]


def ask(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a tool and give what came of it, whatever that is."""
    place = _place(name)
    if place is None:
        raise UnavailableError(f"{name} is not installed", "install it: corral host needs systemd, sudo and shadow")
    try:
        return subprocess.run(
            [place, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            cwd="/",
            env={"PATH": ":".join(_PLACES), "LANG": "C.UTF-8", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"},
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(
            f"{name} {' '.join(arguments)} did not end within {_SECONDS:g} s", "run it by hand"
        ) from None


def do(name: str, *arguments: str) -> str:
    """Run a tool that must succeed; what it printed."""
    done = ask(name, *arguments)
    if done.returncode:
        raise CorralError(
            f"{name} {' '.join(arguments)} failed ({done.returncode}): {_last_words(done)}",
            "put that right and run the same command again: it goes on where it stopped",
        )
    return done.stdout


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    said: Sequence[str] = (done.stderr or done.stdout).strip().splitlines()
    return " ".join(said[-3:]) or "it said nothing"


def _place(name: str) -> str | None:
    for directory in _PLACES:
        path = os.path.join(directory, name)
        if os.access(path, os.X_OK):
            return path
    return None
