"""The routes of ports."""

from __future__ import annotations

from corral.api import port_answers
from corral.api.endpoint import AGENT, CWD, Endpoint, Parameter

PORTS = (
    Endpoint(
        method="GET",
        path="/v1/ports",
        handler="list_ports",
        summary="the ports of an agent, of a team, or all, and who listens on what; X-Corral-Unknown as for processes",
        parameters=(Parameter("agent", "only this agent's"), Parameter("team", "only this team's"), CWD),
        answers=(list[port_answers.PortUse],),
    ),
    Endpoint(
        method="POST",
        path="/v1/ports",
        handler="get_port",
        summary="the port of a name in the agent's block; a new name gets the next one that is free",
        parameters=(Parameter("name", "the name; without it, the first port of the block"), *AGENT),
        answers=(port_answers.Port,),
    ),
)
