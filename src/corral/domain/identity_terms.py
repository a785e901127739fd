"""`[identity]` of a shared server's `config.toml`: who is taken for a person there. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.spec_problems import Problems
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityTerms:
    """Who is taken for a person."""

    #: What a user's service manager runs is that user. It is for people whose terminals or timers run there, and lets
    #: every agent that runs as its developer act as that developer.
    trust_user_units: bool = False


def read_identity_terms(file: str, text: str) -> IdentityTerms:
    """The terms that the text of a `config.toml` sets. `BadSpecError` tells of all that is wrong below `[identity]`.

    Other tables of the file are for others to read.
    """
    problems = Problems(file, text)
    table = Table(problems, (), load(text, file)).table("identity", "[identity]")
    if table is None:
        problems.raise_if_any()
        return IdentityTerms()
    table.only(("trust_user_units",))
    trusted = table.take("trust_user_units", bool, "trust_user_units = true")
    problems.raise_if_any()
    return IdentityTerms(trust_user_units=trusted or False)
