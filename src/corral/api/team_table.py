"""The route of the teams that are up."""

from __future__ import annotations

from corral.api import team_answers
from corral.api.endpoint import Endpoint

TEAMS = (
    Endpoint(
        method="GET",
        path="/v1/teams",
        handler="list_teams",
        summary="the teams that are up, or were when the host went down, with the files that declare them",
        answers=(team_answers.Teams,),
    ),
)
