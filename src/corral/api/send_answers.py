"""Receipts as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from corral.api.answers import Answer
from corral.service.sends import Sent


class Broadcasted(Answer, frozen=True):
    """What came of a message to many."""

    team: str
    receipts: list[Sent]
