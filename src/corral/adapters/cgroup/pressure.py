"""How much of the time something on this host waits for memory, as the kernel tells it (PSI)."""

from __future__ import annotations

from corral.adapters.cgroup.tree import contents
from corral.adapters.cgroup.usage import some_avg10

_HOST = "/proc/pressure/memory"


def of_memory(path: str = _HOST) -> float | None:
    """Percent of the last ten seconds; None if the kernel does not tell: it is old, or was booted without PSI."""
    text = contents(path)
    return some_avg10(text) if text else None
