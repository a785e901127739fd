"""The routes of recordings."""

from __future__ import annotations

from typing import Any

from corral.api import recording_answers
from corral.api.endpoint import AGENT, STREAM, Endpoint, Parameter

RECORDINGS = (
    Endpoint(
        method="GET",
        path="/v1/recordings",
        handler="list_recordings",
        summary="the recordings of an agent's terminal, the oldest first",
        parameters=AGENT,
        answers=(list[recording_answers.Recording],),
    ),
    Endpoint(
        method="GET",
        path="/v1/recordings/{recording}",
        handler="read_recording",
        summary="one of them, as asciicast v2: a header, then an event a line",
        parameters=(Parameter("recording", "its id", required=True), *AGENT),
        answers=(dict[str, Any], list[Any]),
        how=STREAM,
    ),
)
