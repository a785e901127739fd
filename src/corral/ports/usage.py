"""What agents use of their host, as far as their level of containment can tell."""

from __future__ import annotations

from corral.ports.record import Record


class Pressure(Record, frozen=True, omit_defaults=False):
    """How much of the last ten seconds something waited for a resource, in percent (PSI, `some avg10`)."""

    cpu: float = 0.0
    memory: float = 0.0
    io: float = 0.0


class Usage(Record, frozen=True, omit_defaults=False):
    """One agent's use, or that of the whole team. None: this level, or this kernel, cannot tell."""

    #: Empty for the team as a whole.
    agent: str
    #: The level that the figures come from: "systemd", "cgroup" or "process".
    level: str
    cpu_seconds: float
    memory_current: int
    tasks: int
    memory_peak: int | None = None
    #: Of `memory_current`, what the kernel could take back at once: the contents of files.
    memory_reclaimable: int | None = None
    memory_limit: int | None = None
    tasks_limit: int | None = None
    pressure: Pressure | None = None
    oom_kills: int | None = None
    frozen: bool = False
    #: The cgroup below the mount point, empty at level "process".
    cgroup: str = ""
