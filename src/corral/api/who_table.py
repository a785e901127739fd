"""The route of who had to do with a file."""

from __future__ import annotations

from corral.api import who_answers
from corral.api.endpoint import SINCE, TEAM, Endpoint, Parameter
from corral.service.who import DEFAULT_LIMIT, LARGEST_LIMIT

WHO = (
    Endpoint(
        method="GET",
        path="/v1/who",
        handler="who_touched",
        summary="which agents and people changed, hold or claimed a file, the newest first",
        parameters=(
            Parameter("path", "the file: relative to `cwd`, or to the top of the repository", required=True),
            Parameter("agent", "the agent that asks"),
            SINCE,
            Parameter("limit", f"at most so many, {DEFAULT_LIMIT} without it, up to {LARGEST_LIMIT}", "integer"),
            *TEAM,
        ),
        answers=(who_answers.Traces,),
    ),
)
