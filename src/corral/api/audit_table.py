"""The route of the audit trail."""

from __future__ import annotations

from corral.api.audit_answers import AuditEntry
from corral.api.endpoint import SINCE, STREAM, Endpoint, Parameter, flag

AUDIT = (
    Endpoint(
        method="GET",
        path="/v1/audit",
        handler="read_audit",
        summary="the audit trail, as far as the caller may see it",
        parameters=(
            Parameter("who", "only what this user did, by name or uid"),
            Parameter("agent", "only what this agent did, or what was done to it"),
            Parameter("verb", "only verbs that fit one of these patterns, such as `se*`", repeated=True),
            Parameter("trace", "only entries with this trace id"),
            flag("denied", "only what was not allowed"),
            Parameter("after", "only entries after this number", "integer"),
            SINCE,
            Parameter("until", "nothing from then on, in unix seconds", "number"),
            Parameter("lines", "only the last so many", "integer"),
            flag("follow", "go on with what comes"),
        ),
        answers=(AuditEntry,),
        how=STREAM,
    ),
)
