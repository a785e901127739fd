"""What a group may do in the worktrees of a team's agents, on a shared server (ADR 23)."""

from __future__ import annotations

import re
from dataclasses import dataclass

NONE = "none"
READ = "read"
WRITE = "write"
GROUP_ACCESS = (NONE, READ, WRITE)
#: The mode of a workspace: nobody outside of its user and that group gets in, and the default is nobody at all.
MODES = {NONE: 0o700, READ: 0o750, WRITE: 0o770}
#: Names that the privileged helper takes.
GROUP_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GroupAccess:
    """Which group, and what it may do. Without a group it is nobody."""

    group: str = ""
    access: str = NONE

    @property
    def mode(self) -> int:
        return MODES[self.access]


NO_GROUP_ACCESS = GroupAccess()
