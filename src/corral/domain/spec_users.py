"""What a `corral.toml` says about OS users and groups: `run_as` of an agent, `group` and `group_access` of `[team]`.

Whether there are such users, and who may use them, only a shared server can tell (ADR 23).
"""

import re

from corral.domain.group_access import GROUP_ACCESS, GROUP_NAME, NO_GROUP_ACCESS, NONE, GroupAccess
from corral.domain.spec_table import Table

#: The keys of `[team]`, and the one of an agent's table.
TEAM_KEYS = ("group", "group_access")
AGENT_KEYS = ("run_as",)
ALIASES = {"user": "run_as", "uid": "run_as", "os_user": "run_as"}
TEAM_ALIASES = {"groups": "group", "share": "group_access", "access": "group_access"}
_USER_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}", re.ASCII)
_ACCESS_ALIASES = {"r": "read", "ro": "read", "rw": "write", "w": "write", "no": "none", "off": "none", "false": "none"}
_GROUP_EXAMPLE = 'group = "devs" with group_access = "read"'


def read_run_as(table: Table) -> str:
    """The OS user that an agent is run by; empty for the one whose team it is."""
    user = table.take("run_as", str, 'run_as = "agent-builder"')
    if user is None:
        return ""
    if not _USER_NAME.fullmatch(user):
        remedy = 'lower-case letters, digits, _ and -, such as run_as = "agent-builder"'
        table.wrong("run_as", "this cannot be the name of an OS user", remedy)
        return ""
    return user


def read_group_access(team: Table) -> GroupAccess:
    """Which group gets into the worktrees of the team's agents, and what it may do there."""
    group = team.take("group", str, _GROUP_EXAMPLE)
    access = team.word(
        "group_access", GROUP_ACCESS, NONE, wrong="is nothing to let a group do", aliases=_ACCESS_ALIASES
    )
    if group is not None and not GROUP_NAME.fullmatch(group):
        team.wrong("group", "this cannot be the name of a group", f"such as {_GROUP_EXAMPLE}")
        return NO_GROUP_ACCESS
    if access != NONE and not group:
        team.wrong("group_access", "this is for a group, and none is named", f"such as {_GROUP_EXAMPLE}")
        return NO_GROUP_ACCESS
    if group and "group_access" not in team.data:
        team.wrong("group", "what this group may do is not said", f"such as {_GROUP_EXAMPLE}")
        return NO_GROUP_ACCESS
    return GroupAccess(group or "", access) if access != NONE else NO_GROUP_ACCESS
