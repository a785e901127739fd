"""How what a request about tokens is about is found. See `about`."""

from __future__ import annotations

from dataclasses import dataclass

from corral.api import requests
from corral.api.about import About, Case
from corral.api.token_table import TokenBody
from corral.domain.policy import Target
from corral.service.tokens import Tokens, no_such_token


@dataclass(frozen=True, slots=True)
class TokenFinders:
    """A token is somebody's, and so a request about it is about that person."""

    tokens: Tokens | None

    def listed(self, case: Case) -> About:
        """Those of a person, or of everybody: then it is about the host."""
        if requests.flag(case.request, "all"):
            return About(on=(Target(),))
        return About(on=(case.asking.authority.person(case.text("user") or case.asking.who.user),))

    def added(self, case: Case) -> About:
        """It is to be the caller's, or whose the body says."""
        return About(on=(case.asking.authority.person(case.order(TokenBody).user or case.asking.who.user),))

    def removed(self, case: Case) -> About:
        """One that the caller may not revoke is not there."""
        id_ = case.request.path_params["token"]
        token = None if self.tokens is None else self.tokens.get(id_)
        whose = None if token is None else case.asking.authority.person(token.user)
        if whose is None or not case.allows(whose):
            raise no_such_token(id_)
        return About(on=(whose,))
