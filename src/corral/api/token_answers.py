"""Tokens as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from corral.api.answers import Answer
from corral.domain.timestamps import timestamp

if TYPE_CHECKING:
    from corral.domain import tokens as rules
    from corral.service import tokens

_TIME = Meta(extra_json_schema={"format": "date-time"})


class Token(Answer, frozen=True):
    """A token, without what makes it one."""

    id: str
    user: Annotated[str, Meta(description="whose it is: whoever shows it is taken for that user")]
    note: str
    state: Annotated[
        str, Meta(description="`valid`, `expired`, or `void`: whoever it is of is no member any more, or another one")
    ]
    created: Annotated[str, _TIME]
    by: Annotated[str, Meta(description="who made it")]
    expires: Annotated[str | None, _TIME]
    used: Annotated[str | None, Meta(description="when it was last shown, since this daemon runs")]


class TokenMade(Token, frozen=True):
    """A new token. Nobody can be told again what it is."""

    token: Annotated[str, Meta(description="the token itself, for CORRAL_TOKEN_FILE, or behind `Bearer` in a header")]


def token(known: tokens.Tokens, one: rules.Token) -> Token:
    """What may be told of a token."""
    used = known.used(one)
    return Token(
        id=one.id,
        user=one.user,
        note=one.note,
        state=known.state(one),
        created=timestamp(one.created),
        by=one.by,
        expires=None if one.expires is None else timestamp(one.expires),
        used=None if used is None else timestamp(used),
    )


def made(known: tokens.Tokens, one: rules.Token, text: str) -> TokenMade:
    """The answer to whoever had it made."""
    return TokenMade(**msgspec.structs.asdict(token(known, one)), token=text)
