"""The route of coding agents' hooks."""

from __future__ import annotations

from corral.api.endpoint import Endpoint, Parameter
from corral.api.hook_answers import HookAnswer, Registered, Told
from corral.api.hook_bodies import RegisterHooksBody

HOOKS = (
    Endpoint(
        method="POST",
        path="/v1/hooks/{program}",
        handler="hear_hook",
        summary="what a coding agent tells its hook: may this be done? What is read and written is noted",
        parameters=(
            Parameter("program", "whose hook protocol it is: claude, codex, gemini, …", required=True),
            Parameter("event", "the event, as the agent or as `corral hook` spells it", required=True),
            Parameter("team", "the team of the agent that it runs in, if it is one"),
            Parameter("agent", "that agent"),
            Parameter("run", "the run of it"),
            Parameter("cwd", "where relative paths begin, if the agent does not say"),
        ),
        body="what the agent wrote to the hook's standard input",
        answers=(HookAnswer,),
    ),
    Endpoint(
        method="POST",
        path="/v1/hooks/{program}/told",
        handler="note_told",
        summary="the hook has handed on what tells the agent of its messages: they are injected now",
        parameters=(
            Parameter("program", "whose hook it is", required=True),
            Parameter("receipt", "the word that came with it", required=True),
        ),
        answers=(Told,),
    ),
    Endpoint(
        method="POST",
        path="/v1/hooks/{program}/register",
        handler="register_hooks",
        summary="have a coding agent run Corral's hooks when it works in a directory, or no more",
        parameters=(Parameter("program", "the coding agent: claude, codex, gemini, …", required=True),),
        body=RegisterHooksBody,
        answers=(Registered,),
    ),
)
