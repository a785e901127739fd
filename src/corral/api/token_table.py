"""The routes of tokens, with which people ask over TCP."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api import token_answers
from corral.api.endpoint import Endpoint, Parameter, flag
from corral.api.requests import Body


class TokenBody(Body, frozen=True):
    """`POST /v1/tokens`"""

    user: Annotated[str, Meta(description="whose it is to be; empty: the caller's")] = ""
    note: Annotated[str, Meta(description="what it is for: which machine, which script")] = ""
    expires: Annotated[float | None, Meta(description="seconds that it is good for; null: until it is revoked")] = None


TOKENS = (
    Endpoint(
        method="GET",
        path="/v1/tokens",
        handler="token_ls",
        summary="the tokens of a person",
        parameters=(Parameter("user", "whose; without it, the caller's"), flag("all", "those of everybody")),
        answers=(list[token_answers.Token],),
    ),
    Endpoint(
        method="POST",
        path="/v1/tokens",
        handler="token_add",
        summary="make a token, with which its person asks over TCP; refused over TCP itself, and to agents",
        body=TokenBody,
        answers=(token_answers.TokenMade,),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/tokens/{token}",
        handler="token_rm",
        summary="revoke a token; whoever is connected with it is hung up on",
        parameters=(Parameter("token", "its id", required=True),),
        answers=(token_answers.Token,),
    ),
)
