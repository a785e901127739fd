"""What sudo lets the daemon's user do, as sudo itself says: other files than ours have a say in it. Only looks."""

from __future__ import annotations

from corral.adapters.host import tools
from corral.domain.host_names import HELPER, USER


def refusal() -> str:
    """Why sudo would not run the helper for the daemon; empty if it would."""
    done = tools.ask("sudo", "-n", "-l", "-U", USER, HELPER)
    if done.returncode == 0:
        return ""
    return " ".join((done.stderr or done.stdout).split()) or "it has no right to"


def rights() -> list[str]:
    """Every right that it has, as sudo words it: as whom, and what."""
    told = tools.ask("sudo", "-n", "-l", "-U", USER).stdout
    return [" ".join(line.split()) for line in told.splitlines() if line.lstrip().startswith("(")]
