"""Where leases bite, and what happens when nobody can tell: the settings of a team. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields

DENY, ALLOW = "deny", "allow"
ANSWERS = (DENY, ALLOW)


@dataclass(frozen=True, kw_only=True, slots=True)
class Enforcement:
    """The `[enforcement]` table of a team, with every default filled in."""

    #: Hooks in the agents' worktrees refuse commits that change what somebody else holds.
    worktrees: bool = True
    #: What hooks say to a write while the daemon cannot be reached: one of `ANSWERS`.
    unreachable: str = DENY
    #: Whether agents in worktrees may use git's stash, which all worktrees of a repository share: one of `ANSWERS`.
    stash: str = DENY
    #: Whether agents in worktrees may move the branch that the merge queue moves, past the queue: one of `ANSWERS`.
    target: str = DENY


DEFAULT_ENFORCEMENT = Enforcement()
#: Of a workspace that is given up.
NO_ENFORCEMENT = Enforcement(worktrees=False, unreachable=ALLOW, stash=ALLOW, target=ALLOW)
#: The keys of the table, in the order in which they are shown.
ENFORCEMENT_NAMES = tuple(field.name for field in fields(Enforcement))


def enforcement_as_json(enforcement: Enforcement) -> dict[str, object]:
    """All of it, for the journal."""
    return {name: getattr(enforcement, name) for name in ENFORCEMENT_NAMES}


def enforcement_differences(old: Enforcement, new: Enforcement) -> tuple[str, ...]:
    """The keys of the file that differ: `enforcement.stash`."""
    return tuple(f"enforcement.{name}" for name in ENFORCEMENT_NAMES if getattr(old, name) != getattr(new, name))
