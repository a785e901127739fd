"""What is asked of teams and of their agents."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from corral.api.requests import MOST_NAMED, Body

#: Names of agents.
Names = Annotated[list[str], Meta(max_length=MOST_NAMED)]


class UpBody(Body, frozen=True):
    """`POST /v1/up`"""

    file: str
    text: str
    agents: Names = msgspec.field(default_factory=list)
    restart_changed: bool = False
    dry_run: bool = False
    wait: Annotated[float | None, Meta(description="seconds to wait for agents that are pending")] = None
    environment: dict[str, str] = msgspec.field(default_factory=dict)


class DownBody(Body, frozen=True):
    """`POST /v1/down`"""

    team: str | None = None
    file: str | None = None
    cwd: str = ""
    grace: float | None = None
    discard: bool = False


class ChosenBody(Body, frozen=True):
    """`POST /v1/pause`, `/v1/resume`: some agents of a team, or all of them"""

    team: str | None = None
    cwd: str = ""
    nearest: Annotated[str, Meta(description="the corral.toml in `cwd`, or nearest above it, if there is one")] = ""
    agents: Names = msgspec.field(default_factory=list)
    all: bool = False


class AgentsBody(ChosenBody, frozen=True):
    """`POST /v1/stop`"""

    grace: float | None = None


class RestartBody(AgentsBody, frozen=True):
    """`POST /v1/restart`"""

    fresh: Annotated[bool, Meta(description="begin new conversations, instead of going on with those there were")] = (
        False
    )


class ForkBody(Body, frozen=True):
    """`POST /v1/fork`"""

    agent: str
    name: str
    team: str | None = None
    cwd: str = ""
    prompt: str = ""


class RemoveBody(AgentsBody, frozen=True):
    """`POST /v1/rm`"""

    discard: bool = False
    force: bool = False
