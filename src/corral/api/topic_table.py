"""The routes of topics."""

from __future__ import annotations

from corral.api import topic_answers
from corral.api.endpoint import STREAM, TEAM, Endpoint, Parameter
from corral.service.topics import MOST_AT_ONCE

_TOPIC = Parameter("topic", "its name: letters, digits, . _ - and /, at most 200", required=True)
_AFTER = Parameter("after", "entries after this revision; without it, those to come", "integer")

TOPICS = (
    Endpoint(
        method="POST",
        path="/v1/topics",
        handler="publish",
        summary="append to a topic",
        parameters=(_TOPIC, *TEAM),
        body="what is published, at most 256 KiB",
        answers=(topic_answers.Appended,),
    ),
    Endpoint(
        method="GET",
        path="/v1/topics",
        handler="read_topic",
        summary="the entries of a topic after a revision, a page of them",
        parameters=(
            _TOPIC,
            _AFTER,
            Parameter("wait", "seconds until there is one, if there is none yet", "number"),
            Parameter("limit", f"most entries, {MOST_AT_ONCE} by default and at most", "integer"),
            Parameter("bytes", "most bytes of them; one entry comes in any case", "integer"),
            *TEAM,
        ),
        answers=(topic_answers.Page,),
    ),
    Endpoint(
        method="GET",
        path="/v1/topics/follow",
        handler="follow_topic",
        summary="every entry of a topic after a revision, each once and in order",
        parameters=(_TOPIC, _AFTER, *TEAM),
        answers=(topic_answers.Entry,),
        how=STREAM,
    ),
)
