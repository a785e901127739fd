"""The routes of leases and locks."""

from __future__ import annotations

from corral.api import lease_answers, lease_bodies
from corral.api.endpoint import TEAM, Endpoint, Parameter

_AGENT = (Parameter("agent", "the agent in whose name it is asked; without it, the person"), *TEAM)
_LEASE = (Parameter("lease", "the name of the lease", required=True), *_AGENT)

LEASES = (
    Endpoint(
        method="GET",
        path="/v1/leases/check",
        handler="check_leases",
        summary="whether somebody else holds files exclusively",
        parameters=(Parameter("path", "a path from the top of the repository", required=True, repeated=True), *_AGENT),
        answers=(lease_answers.Checked,),
    ),
    Endpoint(
        method="POST",
        path="/v1/leases/check",
        handler="check_many_leases",
        summary="whether somebody else holds some of many files exclusively",
        parameters=_AGENT,
        body="paths from the top of the repository, as bytes, with a NUL behind each; at most 10,000",
        answers=(lease_answers.Checked,),
    ),
    Endpoint(
        method="POST",
        path="/v1/leases",
        handler="acquire_lease",
        summary="hold files: all that the patterns name, or nothing",
        parameters=_AGENT,
        body=lease_bodies.AcquireBody,
        answers=(lease_answers.Lease,),
    ),
    Endpoint(
        method="GET",
        path="/v1/leases",
        handler="list_leases",
        summary="the leases of a repository, the oldest first",
        parameters=TEAM,
        answers=(lease_answers.Leases,),
    ),
    Endpoint(
        method="POST",
        path="/v1/leases/wait",
        handler="wait_for_leases",
        summary="wait until nobody else holds what the patterns name; nothing is held then",
        parameters=_AGENT,
        body=lease_bodies.AcquireBody,
        answers=(lease_answers.Checked,),
    ),
    Endpoint(
        method="POST",
        path="/v1/leases/{lease}/renew",
        handler="renew_lease",
        summary="a sign of life of whoever holds it",
        parameters=_LEASE,
        body=lease_bodies.TokenBody,
        answers=(lease_answers.Lease,),
    ),
    Endpoint(
        method="POST",
        path="/v1/leases/{lease}/release",
        handler="release_lease",
        summary="give it back",
        parameters=_LEASE,
        body=lease_bodies.TokenBody,
        answers=(lease_answers.Lease,),
    ),
    Endpoint(
        method="POST",
        path="/v1/locks",
        handler="take_lock",
        summary="hold a name; it lives by being renewed",
        parameters=_AGENT,
        body=lease_bodies.LockBody,
        answers=(lease_answers.Lease,),
    ),
    Endpoint(
        method="GET",
        path="/v1/locks",
        handler="list_locks",
        summary="the locks of a team, the oldest first",
        parameters=TEAM,
        answers=(lease_answers.Leases,),
    ),
)
