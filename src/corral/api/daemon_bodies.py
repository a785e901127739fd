"""What the daemon itself is told."""

from __future__ import annotations

from corral.api.requests import Body


class Fix(Body, frozen=True):
    """Something that the doctor tried to heal."""

    check: str
    subject: str
    message: str
    fixed: bool
    team: str = ""
    agent: str = ""


class FixesBody(Body, frozen=True):
    """`POST /v1/doctor/fixes`"""

    fixes: list[Fix]
