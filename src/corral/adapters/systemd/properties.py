"""Limits as systemd knows them."""

from __future__ import annotations

from dbus_fast import Variant

from corral.domain.limits import Limits

#: What systemd takes for "no limit" and for "the usual weight".
_INFINITY = 2**64 - 1
_NAMES = {
    "cpu_weight": "CPUWeight",
    "cpu_quota": "CPUQuotaPerSecUSec",
    "memory_high": "MemoryHigh",
    "memory_max": "MemoryMax",
    "tasks_max": "TasksMax",
    "io_weight": "IOWeight",
}
#: Percent of one processor, as microseconds of each second.
_MICROSECONDS_A_PERCENT = 10_000


def set_limits(limits: Limits) -> dict[str, Variant]:
    """Properties for a new unit: only what is limited."""
    return {name: value for name, value in all_limits(limits).items() if value.value != _INFINITY}


def all_limits(limits: Limits) -> dict[str, Variant]:
    """Properties for a unit that runs: what is not limited is lifted."""
    return {name: Variant("t", _value(key, getattr(limits, key))) for key, name in _NAMES.items()}


def _value(key: str, limit: int | None) -> int:
    if limit is None:
        return _INFINITY
    return limit * _MICROSECONDS_A_PERCENT if key == "cpu_quota" else limit
