"""What is asked about leases and locks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api.requests import Body

_Wait = Annotated[float, Meta(description="seconds to stand in line for it; 0: refused at once", ge=0, le=31_622_400)]
_Ttl = Annotated[float, Meta(description="seconds that it stays without a sign of life", gt=0, le=31_622_400)] | None
_Token = Annotated[int | None, Meta(description="of the lease, if it is to be checked")]


class AcquireBody(Body, frozen=True):
    """`POST /v1/leases`: all of the patterns, or nothing"""

    patterns: Annotated[list[str], Meta(description="from the top of the repository: `src/`, `*.md`, `src/**/*.py`")]
    shared: Annotated[bool, Meta(description="together with others that are shared")] = False
    literal: Annotated[bool, Meta(description="the patterns are paths, whatever characters they have")] = False
    ttl: _Ttl = None
    wait: _Wait = 0.0


class LockBody(Body, frozen=True):
    """`POST /v1/locks`"""

    name: str
    ttl: _Ttl = None
    wait: _Wait = 0.0
    while_agent_runs: Annotated[
        bool,
        Meta(description="it belongs to the agent's run, as a lease does; else it must be renewed"),
    ] = False
    within: Annotated[
        tuple[int, ...],
        Meta(description="tokens of the locks that the asking command runs within: it cannot wait for these"),
    ] = ()


class TokenBody(Body, frozen=True):
    """`POST /v1/leases/LEASE/renew`, `/release`"""

    token: _Token = None
