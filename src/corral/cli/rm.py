"""`corral rm`: remove agents from the team."""

from corral.cli.command import TEAM, Command, Invocation, Option
from corral.cli.output import plain, say
from corral.cli.receipt import short_path
from corral.cli.work import ALL, GRACE, SOME_AGENTS, work_on_agents
from corral.client.answers import Record
from corral.domain.errors import RefusedError


def run(invocation: Invocation) -> int:
    agents = work_on_agents(invocation, "/v1/rm", discard=invocation.flag("discard"), force=invocation.flag("force"))
    if not invocation.json:
        for agent in agents:
            say(_line(agent))
    refused = [agent for agent in agents if agent.get("removed") is not True]
    if refused:
        names = ", ".join(str(agent.get("agent")) for agent in refused)
        raise RefusedError(f"not removed: {names}", "corral stop stops them first, --force does both")
    return 0


def _line(agent: Record) -> str:
    detail = f" ({plain(str(agent['detail']))})" if agent.get("detail") else ""
    line = f"{agent.get('agent')}: {'removed' if agent.get('removed') is True else 'not removed'}{detail}"
    if agent.get("kept"):
        line += f"\n  its workspace stays: {short_path(str(agent['kept']))}"
    return line


COMMAND = Command(
    "rm",
    "remove stopped agents from the team",
    description=(
        "Takes agents out of the team, and their worktrees off the disk. A workspace with work that is nowhere\n"
        "else, or with a process of somebody else in it, stays and is named, unless --discard says\n"
        "otherwise. An agent that runs, or waits to be started, is refused without --force."
    ),
    examples=(
        ("corral rm builder-2", "remove an agent that is stopped"),
        ("corral rm --force builder-2", "stop it first"),
        ("corral rm --discard builder-2", "remove its workspace too, whatever is in it"),
    ),
    arguments=(SOME_AGENTS,),
    options=(
        ALL,
        Option("force", "f", summary="stop agents that run, or wait to be started, first"),
        Option("discard", summary="remove workspaces also if work in them would be lost"),
        GRACE,
        TEAM,
    ),
    run=run,
)
