"""Ports as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api.answers import Answer
from corral.service import port_blocks

_NAME = "null for the first port of a block, which is PORT, and for one without a name"


class Port(Answer, frozen=True):
    """A port of an agent."""

    port: int
    name: Annotated[str | None, Meta(description=_NAME)]
    agent: str
    team: str


class PortUse(Answer, frozen=True):
    """A port that is an agent's, that it listens on, or both."""

    port: int
    team: Annotated[str | None, Meta(description="null with `agent`: no agent of these listens there, yet one has it")]
    agent: str | None
    name: Annotated[str | None, Meta(description=_NAME)]
    listening: Annotated[
        bool, Meta(description="a process of the agent listens on it, with TCP; false also if that is `unknown`")
    ]
    pid: Annotated[int | None, Meta(description="of who listens; null if nobody does, or if it cannot be seen")]
    command: str
    leased: Annotated[bool, Meta(description="it is in the agent's own block")]
    hidden: Annotated[bool, Meta(description="who asks may not read it: `command` is empty, whatever it is")]
    unknown: Annotated[str, Meta(description="why it is not known who listens; empty if it is")]


def use(found: port_blocks.PortUse, *, hidden: bool) -> PortUse:
    """One line of the list. `hidden`: without the command line of who listens."""
    return PortUse(
        port=found.port,
        team=found.team,
        agent=found.agent,
        name=found.name,
        listening=found.listening,
        pid=found.pid,
        command="" if hidden else found.command,
        leased=found.leased,
        hidden=hidden,
        unknown=found.unknown,
    )
