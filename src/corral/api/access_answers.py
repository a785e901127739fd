"""What an agent may touch, and what sees to it, as the daemon tells it."""

from __future__ import annotations

from corral.domain.access import ANY_ACCESS, ANY_NETWORK
from corral.domain.bindings import ANY_PORT, as_json
from corral.domain.records import Agent


def access_object(agent: Agent) -> dict[str, object] | None:
    """What its table declares, and what sees to each part, as of its start; None for one that has no such table."""
    access, seen = agent.access, agent.enforced
    if access == ANY_ACCESS and agent.bind == ANY_PORT:
        return None
    return {
        "write": access.write,
        "read": access.read,
        "bind": as_json(agent.bind),
        "network": access.network,
        "enforce": access.enforce,
        "enforced": {
            "write": seen.write or None,
            "read": seen.read or None,
            "bind": seen.bind or None,
            "network": seen.network or None,
            "why": seen.why,
        },
    }


def access_words(agent: Agent) -> str:
    """What sees to each part that is declared: `write commit, bind kernel`; empty if nothing is declared."""
    access, seen = agent.access, agent.enforced
    parts = (
        ("write", seen.write, access.write is not None),
        ("read", seen.read, access.read is not None),
        ("bind", seen.bind, agent.bind != ANY_PORT),
        ("network", seen.network, access.network != ANY_NETWORK),
    )
    return ", ".join(f"{name} {by or 'not yet'}" for name, by, declared in parts if declared)
