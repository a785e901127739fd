"""Shared terminals as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from corral.api.answers import Answer
from corral.api.requests import Body
from corral.domain.timestamps import timestamp
from corral.ports.sessions import SeatShown, SharedSession


class Seat(Answer, frozen=True):
    """Somebody at a terminal."""

    seat: Annotated[str, Meta(description="its id, for those who have several")]
    who: str
    mode: Annotated[str, Meta(description="`observe`, `drive` or `moderate`")]
    since: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    muted: bool
    keyboard: Annotated[bool, Meta(description="a moderator handed the keyboard to this one")]


class Session(Answer, frozen=True):
    """A terminal that people share, with everybody who is there."""

    team: str
    agent: str
    seats: list[Seat]


class Line(Answer, frozen=True, omit_defaults=True):
    """A line of what somebody who joined is told: one of these."""

    joined: Annotated[str | UnsetType, Meta(description="the first line: the id of the seat")] = UNSET
    output: Annotated[bytes | UnsetType, Meta(description="what the terminal is to show, as base64")] = UNSET
    refused: Annotated[
        str | UnsetType, Meta(description="why keys are not taken from now on; empty once they are again")
    ] = UNSET
    over: Annotated[str | UnsetType, Meta(description="the last line: why it is over")] = UNSET
    broke: Annotated[
        bool, Meta(description="with `over`: nobody ended it, what carries it broke; it can be joined again")
    ] = False


class Said(Body, frozen=True):
    """A line of what somebody who joined says: keys, the size that their terminal has now, or that they leave.

    Whoever only goes away has left as well, and counts as one whose connection was lost.
    """

    keys: bytes = b""
    columns: int = 0
    rows: int = 0
    leave: bool = False


class SteerBody(Body, frozen=True):
    """`POST /v1/sessions/steer`"""

    agent: str
    action: Annotated[str, Meta(description="`mute`, `unmute`, `handover`, `release` or `end`")]
    person: Annotated[str, Meta(description="whom it is about, by name or seat; with `end`, nobody means all")] = ""
    team: str | None = None
    cwd: str = ""


said = msgspec.json.Decoder(Said).decode


def session(shown: SharedSession) -> Session:
    """One of them."""
    return Session(team=shown.team, agent=shown.agent, seats=[_seat(seat) for seat in shown.seats])


def _seat(seat: SeatShown) -> Seat:
    return Seat(
        seat=seat.id,
        who=seat.name,
        mode=seat.mode,
        since=timestamp(seat.since),
        muted=seat.muted,
        keyboard=seat.keyboard,
    )
