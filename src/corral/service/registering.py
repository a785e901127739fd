"""Telling a coding agent of Corral: of its MCP server, and of its hooks. It is started also if that cannot be done."""

from __future__ import annotations

from corral.agents.catalogue import for_command
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.records import Agent
from corral.ports.keeper import Keeper


async def register(keeper: Keeper, agent: Agent) -> list[str]:
    """Have the agent's program know what was declared that it should. What a person should know of it, in words."""
    if not agent.mcp and not agent.hooks:
        return []
    notes = []
    profile = for_command(agent.command, agent.shell)
    if agent.mcp and profile is not None and profile.mcp is not None:
        notes.append(await keeper.register_server(path=agent.workspace, profile=profile.name))
    if agent.hooks and (profile is None or profile.hooks is None):
        notes.append("its program has no hooks that Corral knows: what others hold is not refused to it as it writes")
    elif agent.hooks and profile is not None:
        notes.append(await _hooks_note(keeper, agent, profile.name))
    return [f"{agent.name}: {note}" for note in notes if note]


async def _hooks_note(keeper: Keeper, agent: Agent, profile: str) -> str:
    try:
        return await keeper.register_hooks(path=agent.workspace, profile=profile, remove=False)
    except UnavailableError:
        raise
    except CorralError as error:
        return f"{error.message}; {error.remedy}"
