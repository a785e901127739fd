"""What is asked of the values that a whole team sees."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from corral.api.requests import Body, Input
from corral.domain.kv import Transaction


class TransactionBody(Body, frozen=True):
    """`POST /v1/kv`: values to put, keys to remove, and what that relies on"""

    puts: Annotated[dict[str, str | Input], Meta(description="values by key: text, or bytes as base64")] = (
        msgspec.field(default_factory=dict)
    )
    drops: Annotated[list[str], Meta(description="keys to remove")] = msgspec.field(default_factory=list)
    if_revisions: Annotated[
        dict[str, int], Meta(description="the revision that a key must have; 0: it must not be there")
    ] = msgspec.field(default_factory=dict)

    def transaction(self) -> Transaction:
        puts = {key: value.base64 if isinstance(value, Input) else value.encode() for key, value in self.puts.items()}
        return Transaction(if_revisions=self.if_revisions, puts=puts, drops=self.drops)
