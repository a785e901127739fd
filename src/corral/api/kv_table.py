"""The routes of values that a whole team sees."""

from __future__ import annotations

from corral.api import kv_answers
from corral.api.endpoint import STREAM, TEAM, Endpoint, Parameter
from corral.api.kv_bodies import TransactionBody

_PREFIX = Parameter("prefix", "only keys that begin so")

KV = (
    Endpoint(
        method="GET",
        path="/v1/kv",
        handler="get_value",
        summary="the value of a key",
        parameters=(Parameter("key", "the key", required=True), *TEAM),
        answers=(kv_answers.Value,),
    ),
    Endpoint(
        method="POST",
        path="/v1/kv",
        handler="change_values",
        summary="put and remove values in one transaction, if keys are as they were seen",
        parameters=TEAM,
        body=TransactionBody,
        answers=(kv_answers.Changed,),
    ),
    Endpoint(
        method="GET",
        path="/v1/kv/list",
        handler="list_values",
        summary="keys in their order, with their values",
        parameters=(_PREFIX, *TEAM),
        answers=(kv_answers.Values,),
    ),
    Endpoint(
        method="GET",
        path="/v1/kv/changes",
        handler="list_changes",
        summary="changes after a revision, as one answer; the next one if there is none yet",
        parameters=(
            _PREFIX,
            Parameter("after", "changes after this revision", "integer", required=True),
            Parameter("wait", "seconds until there is one, if there is none yet", "number"),
            *TEAM,
        ),
        answers=(kv_answers.Changes,),
    ),
    Endpoint(
        method="GET",
        path="/v1/kv/watch",
        handler="watch_values",
        summary="every change after a revision, each once and in order",
        parameters=(
            _PREFIX,
            Parameter("after", "changes after this revision; without it, those to come", "integer"),
            *TEAM,
        ),
        answers=(kv_answers.Change,),
        how=STREAM,
    ),
)
