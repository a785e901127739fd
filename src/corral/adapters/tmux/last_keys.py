"""When somebody last typed into a terminal of a team."""

from __future__ import annotations

import time

from corral.adapters.tmux.control import ControlClient


async def last_key(client: ControlClient) -> float | None:
    """Seconds since the last key of anybody who is attached; None if nobody is."""
    (lines,) = await client.ask(["list-clients", "-F", "#{client_control_mode} #{client_activity}"])
    fields = [line.split(" ") for line in lines]
    at = [float(activity) for control, activity in fields if control == "0" and activity.isdigit()]
    # tmux counts whole seconds of the wall clock; one that was set back makes nobody type in the future.
    return max(0.0, time.time() - max(at)) if at else None
