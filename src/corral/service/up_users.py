"""The part of `corral up` that is about OS users: whom agents may be run by, and what those find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from corral.domain import run_as
from corral.domain.environment import environment_of_another
from corral.domain.errors import RefusedError
from corral.domain.group_access import NO_GROUP_ACCESS
from corral.domain.spec import AgentSpec, TeamSpec
from corral.ports.accounts import Account
from corral.service.context import Context


async def check_users(
    context: Context, team: TeamSpec, agents: Sequence[AgentSpec], person_of: Callable[[str], str] | None
) -> None:
    """Refuse users and groups that cannot be, or that the team's user may not use. Nothing is changed.

    `person_of` says whose an OS user is, where that is written down.
    """
    others = {agent.run_as: agent for agent in agents if agent.run_as}
    if context.accounts is None:
        if others or team.group_access != NO_GROUP_ACCESS:
            what = "run_as" if others else "group_access"
            raise RefusedError(
                f"{what} is for a shared server, where the daemon has keepers of several users; this instance is yours",
                f"leave {what} out of corral.toml; corral host setup makes a shared server",
            )
        return
    owner = context.supervisor.keepers.owner(team.name)
    account = await context.accounts(owner)
    for user, agent in others.items():
        other = await context.accounts(user)
        if person_of is not None:
            run_as.check_whose(agent.name, person_of(owner) or owner, user, person_of(user))
        run_as.check(
            agent.name,
            owner,
            account.groups if account is not None else (),
            user,
            other.own_group if other is not None else "",
            other.groups if other is not None else (),
            other.uid if other is not None else None,
        )
    _refuse_another_user(context, team.name, agents)
    for user in others:
        # One that cannot be had is told of before anything is made.
        await context.supervisor.keepers.of_user(user).open()


def _refuse_another_user(context: Context, team: str, agents: Sequence[AgentSpec]) -> None:
    """What an agent has with one user, its worktree and its terminal, cannot go over to another."""
    for agent in agents:
        known = context.registry.agents.get((team, agent.name))
        if known is not None and known.run_as != agent.run_as:
            before = known.run_as or context.supervisor.keepers.owner(team)
            raise RefusedError(
                f"{agent.name} is run by {before} up to now, and what it has is that user's",
                f"corral rm --force {agent.name} first, then corral up; work in its worktree stays where it is",
            )


async def environments_of(
    context: Context, team: str, agents: Sequence[AgentSpec], callers: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """By user, what agents that are run by others find in place of the environment of who said `up`."""
    found: dict[str, dict[str, str]] = {}
    for user in {agent.run_as for agent in agents} - {"", context.supervisor.keepers.owner(team)}:
        account: Account | None = await context.accounts(user) if context.accounts is not None else None
        if account is None:
            raise RefusedError(f"there is no user {user} on this host", "see run_as in corral.toml")
        found[user] = environment_of_another(callers, account.name, account.uid, account.home, account.shell)
    return found
