"""An instance that keeps an audit trail, and what is in it."""

from pathlib import Path
from typing import Any

from tests.support.instance import Instance
from tests.support.waiting import wait_for


def start_audited(instance: Instance) -> Instance:
    """Configure the trail, and start the daemon."""
    home = Path(instance.home)
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[audit]\nenabled = true\ncheckpoint_every = '1s'\n")
    instance.run("daemon", "start")
    return instance


def listed(instance: Instance, count: int, *options: str) -> list[dict[str, Any]]:
    """The entries that fit, once there are so many: what nobody waits for is written a moment later."""
    found: list[dict[str, Any]] = []

    def look() -> bool:
        found[:] = instance.json("audit", "ls", "-n", "all", *options)
        return len(found) >= count

    wait_for(look, 20, f"{count} entries with {' '.join(options)}")
    return found
