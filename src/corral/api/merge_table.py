"""The routes of the merge queue."""

from __future__ import annotations

from corral.api import merge_answers, merge_bodies
from corral.api.endpoint import TEAM, Endpoint, Parameter, flag

_MERGE = (Parameter("merge", "the id of the merge", required=True), *TEAM)

MERGES = (
    Endpoint(
        method="POST",
        path="/v1/merges",
        handler="submit_merge",
        summary="put a branch into the line; the same commit again is no harm",
        parameters=(Parameter("agent", "the agent that submits it; without it, the person who asks does"), *TEAM),
        body=merge_bodies.SubmitBody,
        answers=(merge_answers.SubmittedMerge,),
    ),
    Endpoint(
        method="GET",
        path="/v1/merges",
        handler="list_merges",
        summary="the line, the first first; or all that are kept",
        parameters=(flag("all", "also those at an end, before those in line"), *TEAM),
        answers=(merge_answers.Merges,),
    ),
    Endpoint(
        method="GET",
        path="/v1/merges/{merge}",
        handler="show_merge",
        summary="one merge, with what its gates wrote",
        parameters=(
            Parameter("wait", "seconds until the answer comes, if it is not at an end before", "number"),
            Parameter("after", "with wait: answer when it has changed since this revision", "integer"),
            *_MERGE,
        ),
        answers=(merge_answers.WholeMerge,),
    ),
    Endpoint(
        method="POST",
        path="/v1/merges/{merge}/cancel",
        handler="cancel_merge",
        summary="take a branch out of the line",
        parameters=_MERGE,
        answers=(merge_answers.WholeMerge,),
    ),
    Endpoint(
        method="POST",
        path="/v1/merges/{merge}/retry",
        handler="retry_merge",
        summary="put one that is at an end into the line again, with what its branch is at now",
        parameters=_MERGE,
        body=merge_bodies.RetryBody,
        answers=(merge_answers.WholeMerge,),
    ),
)
