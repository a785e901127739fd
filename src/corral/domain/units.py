"""Names of the systemd units that Corral makes. Pure.

A person who looks at `systemd-cgls` reads in them whose a process is. Agents are in scopes named after them; what
Corral needs for itself (a team's tmux server, the keeper, the daemon) has a dot behind `corral`, which no team's name
can have.
"""

from __future__ import annotations

import re

_SLICE = re.compile(r"[A-Za-z0-9:_.\\]+(-[A-Za-z0-9:_.\\]+)*\.slice")
#: The longest name of a unit (UNIT_NAME_MAX).
_LONGEST = 255
#: How much of the instance's name tells two instances apart.
_SHORT = 6

#: Where everything of Corral is, unless the host says otherwise.
ROOT_SLICE = "corral.slice"
#: What tmux calls the scopes that it makes by itself.
SPAWNED_BY_TMUX = "tmux-spawn-*.scope"


def agent_scope(team: str, agent: str) -> str:
    """The scope of an agent."""
    return f"corral-{team}-{agent}.scope"


def agent_scope_beside(team: str, agent: str, instance: str) -> str:
    """The scope of an agent whose plain name somebody else has: another instance, or team `a-b` beside team `a`."""
    return f"corral-{team}-{agent}.{instance[:_SHORT]}.scope"


def agent_scopes(team: str, agent: str, instance: str) -> tuple[str, str]:
    """Every name that the scope of an agent may have."""
    return agent_scope(team, agent), agent_scope_beside(team, agent, instance)


def team_slice(team: str, below: str = ROOT_SLICE) -> str:
    """The slice of a team.

    In the name of a slice a dash means "below": `corral-a-b.slice` would be inside `corral-a.slice`, and the limits of
    team a would hold for team a-b. So dashes of the team are escaped, as systemd-escape does it.
    """
    return f"{below.removesuffix('.slice')}-{team.replace('-', chr(92) + 'x2d')}.slice"


def team_slice_beside(team: str, below: str, instance: str) -> str:
    """The slice of a team whose plain name another instance has: neither shall live under the limits of the other."""
    return f"{team_slice(team, below).removesuffix('.slice')}.{instance[:_SHORT]}.slice"


def slices_around(name: str) -> list[str]:
    """A slice with all that it is in, outermost first: `a-b.slice` is in `a.slice`."""
    if name == "-.slice":
        return []
    parts = name.removesuffix(".slice").split("-")
    return ["-".join(parts[: count + 1]) + ".slice" for count in range(len(parts))]


def server_scope(what: str, team: str, instance: str) -> str:
    """The scope of one of a team's servers."""
    return f"corral.{what}-{team}.{instance[:_SHORT]}.scope"


def process_scope(role: str, instance: str) -> str:
    """The scope of the daemon or of a keeper."""
    return f"corral.{role}.{instance[:_SHORT]}.scope"


def is_of_instance(scope: str, instance: str) -> bool:
    """True for scopes whose name says that they are this instance's; the plain name of an agent's scope does not."""
    return scope.startswith("corral") and scope.endswith(f".{instance[:_SHORT]}.scope")


def own_scopes(scope: str, pid: int | str) -> tuple[str, str]:
    """The names that the scope of a process of Corral's own may have: the second while the first is taken."""
    return scope, f"{scope.removesuffix('.scope')}.{pid}.scope"


def is_own_place(scope: str, instance: str) -> bool:
    """True for scopes of this instance by any of their names, except for the plain name of an agent's scope."""
    beside = scope.startswith("corral.") and scope.endswith(".scope") and f".{instance[:_SHORT]}." in scope
    return beside or is_of_instance(scope, instance)


def is_slice(name: str) -> bool:
    """True if systemd can have a slice of this name."""
    return len(name) <= _LONGEST and (name == "-.slice" or _SLICE.fullmatch(name) is not None)
