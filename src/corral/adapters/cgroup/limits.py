"""Limits as a cgroup keeps them: one small file each, there only if the controller behind it is enabled."""

from __future__ import annotations

from dataclasses import dataclass

from corral.adapters.cgroup.tree import Cgroup
from corral.domain.limits import Limits

#: The controllers that some limit needs.
CONTROLLERS = ("cpu", "memory", "pids", "io")

_CPU_PERIOD = 100_000  # microseconds: the kernel's own


@dataclass(frozen=True, slots=True)
class Setting:
    """One limit as a file and its text."""

    limit: str
    controller: str
    file: str
    text: str
    #: The text is what the kernel has by itself: nothing is lost if it cannot be written.
    usual: bool


def settings(limits: Limits) -> list[Setting]:
    """What to write for these limits. One that is not set is written as the kernel's default: it may have been set."""
    quota = limits.cpu_quota
    texts = {
        "cpu_weight": ("cpu", "cpu.weight", _number(limits.cpu_weight, "100")),
        "cpu_quota": ("cpu", "cpu.max", f"{'max' if quota is None else quota * _CPU_PERIOD // 100} {_CPU_PERIOD}"),
        # Before the hard limit: what can be reclaimed need not be killed for.
        "memory_high": ("memory", "memory.high", _number(limits.memory_high, "max")),
        "memory_max": ("memory", "memory.max", _number(limits.memory_max, "max")),
        "tasks_max": ("pids", "pids.max", _number(limits.tasks_max, "max")),
        "io_weight": ("io", "io.weight", "default " + _number(limits.io_weight, "100")),
    }
    return [
        Setting(limit=limit, controller=controller, file=file, text=text, usual=getattr(limits, limit) is None)
        for limit, (controller, file, text) in texts.items()
    ]


def write(group: Cgroup, limits: Limits) -> list[str]:
    """Set the limits of a cgroup. A line for each that could not be set: it is not enforced, and somebody must hear it.

    Nothing is raised for one that fails; the others are set all the same.
    """
    problems = []
    controllers = group.words("cgroup.controllers")
    for setting in settings(limits):
        if setting.controller not in controllers:
            if not setting.usual:
                problems.append(f"{setting.limit} is not enforced: the {setting.controller} controller is missing")
            continue
        try:
            group.write(setting.file, setting.text)
        except OSError as error:
            if not setting.usual:
                why = "this kernel has no such file" if isinstance(error, FileNotFoundError) else error.strerror
                problems.append(f"{setting.limit} is not enforced: {group.path}/{setting.file}: {why}")
    return problems


def _number(value: int | None, usual: str) -> str:
    return usual if value is None else str(value)
