"""Recordings as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api.answers import Answer
from corral.domain.records import Agent
from corral.domain.timestamps import timestamp
from corral.ports.casts import RecordingShown

_TIME = Meta(extra_json_schema={"format": "date-time"})


class Recording(Answer, frozen=True):
    """A recording of a terminal, or a part of one that goes on in the next."""

    recording: Annotated[str, Meta(description="its id")]
    team: str
    agent: str
    began: Annotated[str, _TIME]
    ended: Annotated[str, _TIME]
    bytes: int


def recording(agent: Agent, shown: RecordingShown) -> Recording:
    """One of them."""
    return Recording(
        recording=shown.id,
        team=agent.team,
        agent=agent.name,
        began=timestamp(shown.began),
        ended=timestamp(shown.ended),
        bytes=shown.bytes,
    )
