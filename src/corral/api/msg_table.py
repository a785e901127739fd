"""The routes of messages."""

from __future__ import annotations

from corral.api import msg_answers
from corral.api.endpoint import CWD, NEAREST, Endpoint, Parameter
from corral.api.msg_requests import AckBody, MessageBody
from corral.api.msg_routes import DEFAULT_LIMIT, MOST_LISTED

_WHOSE = (
    Parameter("agent", "the agent in whose name it is asked, AGENT or TEAM/AGENT; without it, the person who asks"),
    Parameter("team", "the team of names without one"),
    CWD,
    NEAREST,
)
_MESSAGE = (Parameter("message", "the id of the message, such as m41", required=True), *_WHOSE)
_LIMIT = Parameter("limit", f"most messages, {DEFAULT_LIMIT} by default and {MOST_LISTED} at most", "integer")

MSG = (
    Endpoint(
        method="POST",
        path="/v1/messages",
        handler="send_message",
        summary="put a message into the mailboxes of all recipients, or of none",
        parameters=_WHOSE,
        body=MessageBody,
        answers=(msg_answers.Sent,),
    ),
    Endpoint(
        method="GET",
        path="/v1/messages/inbox",
        handler="list_inbox",
        summary="what is in a mailbox and not acked, the oldest first",
        parameters=(
            Parameter("wait", "seconds until there is one that was not read, if there is none", "number"),
            Parameter("from", "only of this sender: AGENT, TEAM/AGENT or @PERSON"),
            _LIMIT,
            *_WHOSE,
        ),
        answers=(msg_answers.Inbox,),
    ),
    Endpoint(
        method="GET",
        path="/v1/messages/sent",
        handler="list_sent",
        summary="what one sent, the last ones, with how far each got",
        parameters=(_LIMIT, *_WHOSE),
        answers=(msg_answers.SentMessages,),
    ),
    Endpoint(
        method="GET",
        path="/v1/messages/{message}",
        handler="show_message",
        summary="a message that one sent or got, with how far it got; it does not count as read",
        parameters=_MESSAGE,
        answers=(msg_answers.Message,),
    ),
    Endpoint(
        method="POST",
        path="/v1/messages/{message}/read",
        handler="read_message",
        summary="a message that one got; it counts as read",
        parameters=_MESSAGE,
        answers=(msg_answers.Message,),
    ),
    Endpoint(
        method="POST",
        path="/v1/messages/{message}/ack",
        handler="ack_message",
        summary="say that one has dealt with a message",
        parameters=_MESSAGE,
        body=AckBody,
        answers=(msg_answers.Sent,),
    ),
)
