"""What an agent or a team may use of its host. The kernel enforces it where an agent has a cgroup. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Each is None where there is none, which means: no limit, and the usual weight.

    Where a file lifts a default (`"infinity"`), or asks for the usual weight, that is None here as well: what is said
    and what is left open differ in the file only.
    """

    #: Share of the processor among siblings that all want it, 1 to 10000; never the usual 100.
    cpu_weight: int | None = None
    #: Processor time in percent of one processor: 150 is one and a half.
    cpu_quota: int | None = None
    #: Bytes. Beyond it memory is reclaimed hard and the agent slows down.
    memory_high: int | None = None
    #: Bytes. Beyond it the kernel kills.
    memory_max: int | None = None
    #: Processes and threads.
    tasks_max: int | None = None
    #: Share of the disks among siblings, 1 to 10000; never the usual 100.
    io_weight: int | None = None

    def __bool__(self) -> bool:
        """True if anything is limited."""
        return any(getattr(self, name) is not None for name in LIMIT_NAMES)


NO_LIMITS = Limits()
#: The keys of `corral.toml`, in the order in which they are shown.
LIMIT_NAMES = tuple(field.name for field in fields(Limits))
#: Those that share out what is there; the others bound it.
WEIGHTS = ("cpu_weight", "io_weight")
#: The weight of whatever has none.
USUAL_WEIGHT = 100


def limits_as_json(limits: Limits) -> dict[str, int]:
    """The limits that are set, for the store and for `--json`."""
    return {name: value for name in LIMIT_NAMES if (value := getattr(limits, name)) is not None}


def limits_from_json(data: Mapping[str, object]) -> Limits:
    """What `limits_as_json` made; what this version does not know is left out."""
    return Limits(**{name: value for name in LIMIT_NAMES if type(value := data.get(name)) is int})


def limit_differences(old: Limits, new: Limits) -> tuple[str, ...]:
    """The names of the limits that differ."""
    return tuple(name for name in LIMIT_NAMES if getattr(old, name) != getattr(new, name))
