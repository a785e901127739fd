"""The routes of what waits for a person."""

from __future__ import annotations

from corral.api import inbox_answers, inbox_bodies
from corral.api.endpoint import STREAM, Endpoint, Parameter, flag

_ENTRY = Parameter("entry", "the number of the entry", required=True)
_TEAM = Parameter("team", "only of this team")

INBOX = (
    Endpoint(
        method="GET",
        path="/v1/inbox",
        handler="list_entries",
        summary="what waits for a person, oldest first",
        parameters=(_TEAM, flag("all", "also what was answered or is gone, as far as it is kept")),
        answers=(inbox_answers.Entries,),
    ),
    Endpoint(
        method="GET",
        path="/v1/inbox/watch",
        handler="watch_entries",
        summary="the list, and again whenever it is another",
        parameters=(_TEAM,),
        answers=(inbox_answers.Entries,),
        how=STREAM,
    ),
    Endpoint(
        method="GET",
        path="/v1/inbox/{entry}",
        handler="show_entry",
        summary="one entry, with the whole screen as it was",
        parameters=(_ENTRY,),
        answers=(inbox_answers.WholeEntry,),
    ),
    Endpoint(
        method="POST",
        path="/v1/inbox/{entry}/claim",
        handler="claim_entry",
        summary="take it on: for half an hour nobody else can answer it",
        parameters=(_ENTRY,),
        answers=(inbox_answers.Entry,),
    ),
    Endpoint(
        method="POST",
        path="/v1/inbox/{entry}/answer",
        handler="answer_entry",
        summary="answer it; pressed only into the dialog that it shows, and answered when that is gone",
        parameters=(_ENTRY,),
        body=inbox_bodies.AnswerBody,
        answers=(inbox_answers.Entry,),
    ),
    Endpoint(
        method="POST",
        path="/v1/inbox/{entry}/snooze",
        handler="snooze_entry",
        summary="let it rest for a while",
        parameters=(_ENTRY,),
        body=inbox_bodies.SnoozeBody,
        answers=(inbox_answers.Entry,),
    ),
)
