"""The routes of what is typed into agents."""

from __future__ import annotations

from corral.api.endpoint import AGENT, TEAM, Endpoint, Parameter, flag
from corral.api.send_answers import Broadcasted
from corral.service.sends import DEFAULT_WAIT, Sent

_BODY = "the message: UTF-8, at most 1 MiB"
_WAIT = (
    Parameter("wait", "answer when it is queued, pasted, submitted or observed; submitted by default"),
    Parameter(
        "timeout", f"seconds to wait for that, {DEFAULT_WAIT:g} by default; it stays in line after that", "number"
    ),
)

SENDS = (
    Endpoint(
        method="POST",
        path="/v1/send",
        handler="send",
        summary="type a message into an agent's terminal",
        parameters=(
            *AGENT,
            flag("enter", "press Enter after it; 1 by default"),
            flag("force", "also if it is a service, and ahead of its first prompt"),
            *_WAIT,
        ),
        body=_BODY,
        answers=(Sent,),
    ),
    Endpoint(
        method="GET",
        path="/v1/send/{message}",
        handler="show_sent",
        summary="how far a message got; with `wait`, once it got so far",
        parameters=(Parameter("message", "the id of the message", required=True), *_WAIT),
        answers=(Sent,),
    ),
    Endpoint(
        method="POST",
        path="/v1/broadcast",
        handler="broadcast",
        summary="type a message into the terminal of every agent of a team",
        parameters=(Parameter("role", "only agents of this role"), *TEAM, *_WAIT),
        body=_BODY,
        answers=(Broadcasted,),
    ),
)
