"""What is told of teams. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from msgspec import Meta

from corral.api.answers import Answer
from corral.domain.records import Team


class TeamFile(Answer, frozen=True):
    """A team, and where it is declared."""

    team: str
    file: Annotated[str, Meta(description="the absolute path of its corral.toml")]
    user: Annotated[str, Meta(description="on a shared server, whose team it is; else empty")] = ""


class Teams(Answer, frozen=True):
    """All of them, by name."""

    teams: Sequence[TeamFile]


def listed(teams: Iterable[Team]) -> Teams:
    """The teams as `GET /v1/teams` gives them."""
    return Teams(
        teams=[
            TeamFile(team=team.name, file=team.file, user=team.user)
            for team in sorted(teams, key=lambda team: team.name)
        ]
    )
