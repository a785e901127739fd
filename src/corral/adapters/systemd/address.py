"""Where the bus of this user is. Apart from the rest, which needs a library that takes a while to import."""

from __future__ import annotations

import os


def bus_address() -> str | None:
    """The address that the environment names, or that of the place where systemd has it; None if nothing is there."""
    named = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
    if named:
        return named
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    path = os.path.join(runtime, "bus")
    return f"unix:path={path}" if os.path.exists(path) else None
