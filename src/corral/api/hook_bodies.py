"""What is asked of the hooks of coding agents."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api.requests import Body


class RegisterHooksBody(Body, frozen=True):
    """`POST /v1/hooks/PROGRAM/register`"""

    directory: Annotated[str, Meta(description="where the coding agent works; an absolute path")]
    remove: Annotated[bool, Meta(description="take them out again")] = False
