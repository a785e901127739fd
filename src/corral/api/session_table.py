"""The routes of shared terminals."""

from __future__ import annotations

from corral.api import session_answers
from corral.api.endpoint import AGENT, CWD, STREAM, Endpoint, Parameter

SESSIONS = (
    Endpoint(
        method="POST",
        path="/v1/sessions",
        handler="join_session",
        summary="join an agent's terminal: what is typed goes in, what is shown comes out, until somebody leaves",
        parameters=(
            *AGENT,
            Parameter("mode", "`observe`, `drive` or `moderate`", required=True),
            Parameter("columns", "the width of the terminal; 80 by default", "integer"),
            Parameter("rows", "its height; 24 by default", "integer"),
            Parameter("term", "what it calls itself, as in TERM"),
        ),
        body='lines of JSON, as they are typed: {"keys": BASE64}, or {"columns": N, "rows": N} for another size',
        answers=(session_answers.Line,),
        how=STREAM,
    ),
    Endpoint(
        method="GET",
        path="/v1/sessions",
        handler="list_sessions",
        summary="the terminals that people share, and who is there",
        parameters=(Parameter("agent", "only this agent's"), Parameter("team", "only this team's"), CWD),
        answers=(list[session_answers.Session],),
    ),
    Endpoint(
        method="POST",
        path="/v1/sessions/steer",
        handler="steer_session",
        summary="mute somebody, hand the keyboard over, or end a session",
        body=session_answers.SteerBody,
        answers=(session_answers.Session,),
    ),
)
