"""What is answered about the policy."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from corral.api.answers import Answer


class Explained(Answer, frozen=True):
    """What would be decided."""

    allow: bool
    rule: str
    reason: str
    input: Annotated[dict[str, Any], Meta(description="what the policy was asked")]
    assumed: Annotated[list[str], Meta(description="what was assumed for want of facts, one sentence each")]
