"""Every route of the daemon: what it is for, what it takes and what it answers.

The application is made from this table and so is the OpenAPI document: what one has, the other has too.
"""

from __future__ import annotations

from typing import Any

from corral.api import openapi_answers as told
from corral.api import process_answers
from corral.api.audit_table import AUDIT
from corral.api.coordination_table import COORDINATION
from corral.api.daemon_bodies import FixesBody
from corral.api.endpoint import AGENT, CWD, PROCESS, SINCE, STREAM, TEAM, WORK, Endpoint, Parameter, flag
from corral.api.member_table import MEMBERS
from corral.api.process_bodies import ExecBody
from corral.api.team_bodies import AgentsBody, ChosenBody, DownBody, ForkBody, RemoveBody, RestartBody, UpBody
from corral.api.team_table import TEAMS
from corral.api.token_table import TOKENS
from corral.service.agents import CaughtUp, LoggedOutput
from corral.service.down import Receipt
from corral.service.fork import Forked
from corral.service.journal import Awaited
from corral.service.up_result import UpResult

ENDPOINTS = (
    # The first one is the one that is waited for most.
    Endpoint(
        method="POST",
        path="/v1/exec",
        handler="execute",
        summary="run a command in an agent's workspace, environment and containment",
        parameters=AGENT,
        body=ExecBody,
        answers=(process_answers.Execution,),
    ),
    Endpoint(
        method="GET",
        path="/v1/processes",
        handler="list_processes",
        summary="the processes of an agent, of a team, or all; X-Corral-Unknown says of which teams nothing is known",
        parameters=(Parameter("agent", "only this agent's"), Parameter("team", "only this team's"), CWD),
        answers=(list[process_answers.Process],),
    ),
    Endpoint(
        method="GET",
        path="/v1/processes/{process}",
        handler="show_process",
        summary="a process",
        parameters=PROCESS,
        answers=(process_answers.Process,),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/processes/{process}",
        handler="remove_process",
        summary="forget a process with its output; refused while something of it runs",
        parameters=PROCESS,
        answers=(process_answers.Removed,),
    ),
    Endpoint(
        method="GET",
        path="/v1/processes/{process}/output",
        handler="read_output",
        summary="what it wrote, from a cursor on; with `follow`, a document a line, as it comes",
        parameters=(
            *PROCESS,
            Parameter("after", "the cursor: `next` of the answer before; 0 by default", "integer"),
            Parameter("limit", "most bytes of output, 1 MiB by default and 16 MiB at most", "integer"),
            Parameter("wait", "seconds until there is something new, or the command has ended", "number"),
            Parameter("until", "an RE2 pattern: wait for a line that matches, and end with it"),
            Parameter("filter", "an RE2 pattern: only lines that match"),
            Parameter("encoding", "`base64`: the bytes as they are, also if they are text"),
            flag("follow", "go on with what comes, until nobody can write any more"),
        ),
        answers=(process_answers.Output,),
    ),
    Endpoint(
        method="POST",
        path="/v1/processes/{process}/wait",
        handler="wait_for_process",
        summary="wait for the end of the command",
        parameters=(
            *PROCESS,
            Parameter("wait", "at most so many seconds; without it, however long it takes", "number"),
        ),
        answers=(process_answers.Process,),
    ),
    Endpoint(
        method="POST",
        path="/v1/processes/{process}/write",
        handler="write_to_process",
        summary="give it something to read",
        parameters=(*PROCESS, flag("eof", "nothing comes after it")),
        body="what it is to read, at most 16 MiB",
        answers=(process_answers.Written,),
    ),
    Endpoint(
        method="POST",
        path="/v1/processes/{process}/signal",
        handler="signal_process",
        summary="send a signal to everything of it",
        parameters=(*PROCESS, Parameter("signal", "`INT`, `SIGINT` or `2`", required=True)),
        answers=(process_answers.Signalled,),
    ),
    Endpoint(
        method="POST",
        path="/v1/processes/{process}/kill",
        handler="kill_process",
        summary="end everything of it: SIGTERM, and after a while SIGKILL",
        parameters=(*PROCESS, Parameter("grace", "seconds between the two; 5 by default", "number")),
        answers=(process_answers.KilledProcess,),
    ),
    Endpoint(
        method="POST",
        path="/v1/processes/{process}/resize",
        handler="resize_process",
        summary="change the size of its terminal",
        parameters=(
            *PROCESS,
            Parameter("columns", "its width", "integer", required=True),
            Parameter("rows", "its height", "integer", required=True),
        ),
        answers=(process_answers.Resized,),
    ),
    *TEAMS,
    Endpoint(method="GET", path="/v1/health", handler="health", summary="how the daemon is", answers=(told.Health,)),
    Endpoint(
        method="POST",
        path="/v1/daemon/stop",
        handler="stop_daemon",
        summary="end the daemon; the agents stay up",
        answers=(told.Stopped,),
    ),
    Endpoint(
        method="GET",
        path="/v1/agents",
        handler="list_agents",
        summary="the agents that are up; as a table if text/tab-separated-values is asked for",
        parameters=(
            Parameter("team", "only this team"),
            Parameter("agent", "only this agent; not_found if there is none"),
            Parameter("cwd", "where somebody is: decides about an agent that several teams have"),
        ),
        answers=(list[told.Agent],),
    ),
    Endpoint(
        method="POST",
        path="/v1/up",
        handler="up",
        summary="start the team of a corral.toml, or what is missing of it",
        body=UpBody,
        answers=(UpResult,),
        how=WORK,
    ),
    Endpoint(
        method="POST",
        path="/v1/down",
        handler="down",
        summary="take a team down and prove that nothing is left",
        body=DownBody,
        answers=(Receipt,),
        how=WORK,
    ),
    Endpoint(
        method="POST",
        path="/v1/stop",
        handler="stop",
        summary="stop agents; they stay in the team",
        body=AgentsBody,
        answers=(told.AgentsDone,),
        how=WORK,
    ),
    Endpoint(
        method="POST",
        path="/v1/restart",
        handler="restart",
        summary="stop agents and start them again",
        body=RestartBody,
        answers=(told.AgentsDone,),
        how=WORK,
    ),
    Endpoint(
        method="POST",
        path="/v1/fork",
        handler="fork",
        summary="a new agent beside another, with the same declaration and the other's past",
        body=ForkBody,
        answers=(Forked,),
        how=WORK,
    ),
    Endpoint(
        method="POST",
        path="/v1/rm",
        handler="remove",
        summary="remove agents from the team",
        body=RemoveBody,
        answers=(told.AgentsRemoved,),
        how=WORK,
    ),
    Endpoint(
        method="POST",
        path="/v1/pause",
        handler="pause",
        summary="make agents stand still, with everything they started",
        body=ChosenBody,
        answers=(told.AgentsHeld,),
        how=WORK,
    ),
    Endpoint(
        method="POST",
        path="/v1/resume",
        handler="resume",
        summary="let paused agents go on",
        body=ChosenBody,
        answers=(told.AgentsHeld,),
        how=WORK,
    ),
    Endpoint(
        method="GET",
        path="/v1/stats",
        handler="stats",
        summary="what agents use of their host",
        parameters=(
            Parameter("agent", "these agents; none means all, and their teams", repeated=True),
            *TEAM,
            flag("follow", "go on, a line every so often"),
            Parameter("every", "seconds between two lines, 0.1 to 86400; 2 by default", "number"),
        ),
        answers=(told.Stats,),
        how=STREAM,
    ),
    Endpoint(
        method="GET",
        path="/v1/attach",
        handler="attach",
        summary="the command that joins an agent's terminal",
        parameters=(*AGENT, flag("read_only", "keys do not reach the agent")),
        answers=(told.AttachCommand,),
    ),
    Endpoint(
        method="GET",
        path="/v1/logs",
        handler="logs",
        summary="what agents printed, in pieces as they came",
        parameters=(
            Parameter("agent", "these agents; none means the whole team", repeated=True),
            *TEAM,
            Parameter("lines", "at least so many lines of each agent, from the end on", "integer"),
            SINCE,
            flag("follow", "go on with what comes"),
        ),
        answers=(LoggedOutput, CaughtUp),
        how=STREAM,
    ),
    Endpoint(
        method="GET",
        path="/v1/screen",
        handler="screen",
        summary="an agent's terminal as it is now",
        parameters=AGENT,
        answers=(told.Screen,),
    ),
    Endpoint(
        method="GET",
        path="/v1/events",
        handler="events",
        summary="the journal",
        parameters=(
            Parameter("team", "only events about this team"),
            Parameter("agent", "only events about this agent"),
            Parameter("event", "only events whose names fit one of these patterns, such as `agent.*`", repeated=True),
            Parameter("after", "only events after this `seq`", "integer"),
            SINCE,
            Parameter("lines", "only the last so many", "integer"),
            flag("follow", "go on with what comes"),
        ),
        answers=(told.Event, Awaited),
        how=STREAM,
    ),
    *AUDIT,
    *MEMBERS,
    *TOKENS,
    *COORDINATION,
    Endpoint(
        method="POST",
        path="/v1/doctor/fixes",
        handler="note_fixes",
        summary="take down what `corral doctor --fix` did",
        body=FixesBody,
        answers=(told.Noted,),
    ),
    Endpoint(
        method="GET",
        path="/v1/openapi.json",
        handler="openapi",
        summary="this document",
        answers=(dict[str, Any],),
    ),
)
