"""`corral mcp`: what an agent can do with Corral as MCP tools."""

import sys

from corral.cli.command import AGENTS, TEAM, Command, Invocation, Option
from corral.cli.output import remark
from corral.cli.own_agent import named_agent
from corral.cli.targets import agent_and_team
from corral.domain.errors import WrongUseError


def run(invocation: Invocation) -> int:
    team, agent = agent_and_team(invocation.text("team"), invocation.text("agent"))
    if not team or not agent:
        own_team, own = named_agent()
        team, agent = team or own_team, agent or own
    if not team or not agent:
        raise WrongUseError(
            "whose tools? CORRAL_TEAM and CORRAL_AGENT are not set, so this is not inside an agent",
            "start the server in an agent, or name one: corral mcp --agent TEAM/AGENT",
        )
    if sys.stdin.isatty():
        remark("this speaks MCP on standard input and output, and is meant to be started by a coding agent")
    from corral.mcp.server import serve

    return serve(invocation.places, team, agent)


COMMAND = Command(
    "mcp",
    "offer an agent its processes and its team as MCP tools",
    description=(
        "Runs an MCP server on standard input and output until its input ends. Its tools are those of corral exec\n"
        "and corral proc, and of what agents agree on: lease, lock, kv, msg, pub, sub, port, task, merge and who. All\n"
        "of them are in the name of one agent: that of CORRAL_TEAM and CORRAL_AGENT, which are set in every agent. A\n"
        "coding agent starts it by itself once it is registered: with mcp = true in corral.toml, corral up does that\n"
        "for each agent it knows the files of."
    ),
    examples=(
        ("corral mcp", "inside an agent; its coding agent starts it so"),
        ("corral mcp --agent shop/api", "the same tools from outside"),
        ("claude mcp add corral -- corral mcp", "register it with Claude Code by hand"),
    ),
    options=(
        Option("agent", value="AGENT", summary="the agent, if it is not the one that this runs in", offers=AGENTS),
        TEAM,
    ),
    run=run,
)
