"""`corral.toml`: what a team is, checked strictly before anything is started.

    [team]
    name = "shop"                 # names sessions, branches and units
    repo = "."                    # optional: the git repository that the agents work on

    [agents.builder]
    command = ["claude"]          # argv, or one string for a shell
    count = 2                     # builder-1, builder-2; without it, or with 1, plain builder
    workspace = "worktree"        # worktree (default with a repo) | shared (default without) | "some/dir"
    env = { NODE_ENV = "test" }
    restart = "on-failure"        # never (default) | on-failure | always
    prompt = "…"                  # first message, delivered when the agent is ready

This is the only module of its family that others import, but for `spec_text`, which spares `corral up` the rest.
Nothing here touches a file: the caller reads it.
"""

import os.path

from corral.domain import names
from corral.domain.spec_agents import KEYS as AGENT_KEYS
from corral.domain.spec_agents import read_agents
from corral.domain.spec_fingerprint import differences, fingerprint
from corral.domain.spec_model import DEFAULT_RESTART, MAX_AGENTS, RESTARTS, SHARED, WORKTREE, AgentSpec, TeamSpec
from corral.domain.spec_paths import resolved
from corral.domain.spec_problems import Problems
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table
from corral.domain.spec_text import MAX_BYTES, decode

__all__ = [
    "DEFAULT_RESTART",
    "MAX_AGENTS",
    "MAX_BYTES",
    "RESTARTS",
    "SHARED",
    "WORKTREE",
    "AgentSpec",
    "TeamSpec",
    "decode",
    "differences",
    "fingerprint",
    "parse",
]

_TABLES = ("team", "agents")
_TEAM_KEYS = ("name", "repo")
_TEAM_ALIASES = {"repository": "repo", "git": "repo", "path": "repo"}
_ELSEWHERE_IN_FILE = {**dict.fromkeys(_TEAM_KEYS, "[team]"), **dict.fromkeys(AGENT_KEYS, "an [agents.NAME] table")}
_ELSEWHERE_IN_TEAM = dict.fromkeys(AGENT_KEYS, "an [agents.NAME] table")
_AGENTS_EXAMPLE = '[agents.builder] with command = ["claude"]'


def parse(text: str, file: str) -> TeamSpec:
    """The team that `text`, the contents of `file`, declares.

    Raises BadSpecError with every mistake in the file: its message has a line `FILE:LINE: KEY: what is wrong` for
    each, its remedy says what would be right, and `details["problems"]` has both as data. `file` is an absolute
    path, because relative paths in the file start from its directory and not from where this process happens to be.
    """
    if not os.path.isabs(file):
        raise ValueError(f"the path of a spec must be absolute: {file}")
    text = text.removeprefix("\ufeff")
    directory = os.path.normpath(os.path.dirname(file))
    problems = Problems(file, text)
    root = Table(problems, (), load(text, file))
    root.only(_TABLES, elsewhere=_ELSEWHERE_IN_FILE)
    name, repo, has_repo = _team(root, directory)
    agents: tuple[AgentSpec, ...] = ()
    if "agents" not in root.data:
        root.wrong("agents", "there are no agents", f"add {_AGENTS_EXAMPLE}")
    elif table := root.table("agents", _AGENTS_EXAMPLE):
        agents = read_agents(table, directory, has_repo)
    problems.raise_if_any()
    return TeamSpec(name=name, file=file, directory=directory, repo=repo, agents=agents)


def _team(root: Table, directory: str) -> tuple[str, str | None, bool]:
    """The team's name, its repository, and whether it means to have one (also if what it says of it is wrong)."""
    example = f'name = "{names.suggestion(os.path.basename(directory)) or "shop"}"'
    if "team" not in root.data:
        root.wrong("team", "this table is missing", f"add [team] with {example}")
        # What else is wrong is worth knowing, but nothing about a repository that nobody could name yet.
        return "", None, True
    team = root.table("team", f"[team] with {example}")
    if team is None:
        return "", None, True
    team.only(_TEAM_KEYS, _TEAM_ALIASES, _ELSEWHERE_IN_TEAM)
    name = team.need("name", str, example) or ""
    if isinstance(team.data.get("name"), str) and not names.is_valid(name):
        nearest = names.suggestion(name)
        remedy = f"did you mean '{nearest}'? " if nearest else ""
        team.wrong("name", "this is not a valid name for a team", f"{remedy}A name has {names.RULE}")
    repo = team.take("repo", str, 'repo = "."')
    return name, None if repo is None else resolved(team, "repo", repo, directory), "repo" in team.data
