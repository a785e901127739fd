"""What is asked of the merge queue."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from corral.api.requests import Body

_Tokens = Annotated[
    list[int],
    Meta(description="of leases that it relies on: it is refused if one of them is not held any more when it lands"),
]


class SubmitBody(Body, frozen=True):
    """`POST /v1/merges`"""

    branch: Annotated[str, Meta(description="without it, the one that the agent, or the caller's directory, is on")] = (
        ""
    )
    tokens: _Tokens = msgspec.field(default_factory=list)
    wait: Annotated[float, Meta(description="seconds until the answer comes, if it is not at an end before", ge=0)] = (
        0.0
    )


class RetryBody(Body, frozen=True):
    """`POST /v1/merges/MERGE/retry`"""

    #: Without any it relies on those that it had.
    tokens: _Tokens = msgspec.field(default_factory=list)
