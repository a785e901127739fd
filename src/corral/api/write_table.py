"""The route that hooks ask."""

from __future__ import annotations

from corral.api import write_answers
from corral.api.endpoint import TEAM, Endpoint, Parameter, flag

WRITES = (
    Endpoint(
        method="POST",
        path="/v1/writes/check",
        handler="check_writes",
        summary="which of these files must not be written now, because somebody else holds them or got them since",
        parameters=(
            Parameter("agent", "the agent in whose name it is asked; without it, the person"),
            Parameter("run", "the run of the agent that the asking process is of, from CORRAL_RUN"),
            flag("ignore_case", "names are the same whatever their case"),
            flag("shared", "what others hold shared counts as well; 1 by default"),
            *TEAM,
        ),
        body="paths from the top of the repository, as bytes, with a NUL behind each; at most 50,000",
        answers=(write_answers.WriteCheck,),
    ),
)
