"""What a team uses whose agents are run by several OS users: nobody sees more of it than the part of one user. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from corral.ports.usage import Usage

#: The best level last: of a sum no more can be said than of its least part.
_LEVELS = ("process", "cgroup", "systemd")


def of_parts(parts: Sequence[Usage]) -> Usage | None:
    """The whole of a team out of what each user's keeper says of its own part; None if nothing runs.

    Peaks, pressures and limits are each part's own, and do not add up.
    """
    if len(parts) < 2:
        return parts[0] if parts else None
    kills = [one.oom_kills for one in parts if one.oom_kills is not None]
    return msgspec.structs.replace(
        parts[0],
        level=min((one.level for one in parts), key=lambda level: _LEVELS.index(level) if level in _LEVELS else -1),
        cpu_seconds=sum(one.cpu_seconds for one in parts),
        memory_current=sum(one.memory_current for one in parts),
        tasks=sum(one.tasks for one in parts),
        memory_peak=None,
        memory_reclaimable=None,
        memory_limit=None,
        tasks_limit=None,
        pressure=None,
        oom_kills=sum(kills) if kills else None,
        frozen=all(one.frozen for one in parts),
        cgroup="",
    )
