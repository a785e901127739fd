"""What `corral init` writes: a `corral.toml` that works as it is and explains itself.

The command looks (at the repository, at what is installed); what to make of it is decided here.
"""

import json
from dataclasses import dataclass

from corral.domain import names
from corral.domain.spec_model import SHARED, WORKTREE

_FALLBACK_TEAM = "team"
#: The column where the comments behind keys begin.
_COMMENT_COLUMN = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownAgent:
    """A coding agent that could join the team."""

    #: A valid name; the agent's table is named by it.
    name: str
    #: What people call the program.
    title: str
    #: The argument vector that starts it.
    command: tuple[str, ...]
    #: What to know before using it.
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What `corral init` has found."""

    #: The name of the directory that the file is for, without its path.
    directory: str
    #: The repository, as a path relative to that directory (`.`, `..`, …), or None if there is none.
    repo: str | None
    #: True if the repository has a commit, so that worktrees can be made of it.
    has_commit: bool
    #: The agents that are installed.
    installed: tuple[KnownAgent, ...]
    #: Those that are not.
    missing: tuple[KnownAgent, ...]
    #: The agent that always works; it makes up the team if no other is installed.
    fallback: KnownAgent
    #: Somebody asked for Corral's MCP server to be registered with the agents.
    mcp: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Starter:
    """A file to write."""

    #: The name of the team.
    team: str
    #: The names of its agents.
    agents: tuple[str, ...]
    #: Where they work: `worktree` or `shared`.
    workspace: str
    #: The whole file.
    text: str


def starter(around: Surroundings) -> Starter:
    """The file for these surroundings. Its text is always a good spec, also with the examples taken in."""
    team = names.suggestion(around.directory) or _FALLBACK_TEAM
    agents = around.installed or (around.fallback,)
    examples = around.missing if agents == (around.fallback,) else (*around.missing, around.fallback)
    workspace = WORKTREE if around.repo is not None and around.has_commit else SHARED
    blocks = [
        _OPENING,
        _team_block(team, around),
        _agents_opening(around),
        *(_agent_block(agent, workspace) for agent in agents),
    ]
    if examples:
        blocks.append(_EXAMPLES_OPENING)
        blocks += [_commented(_example_block(agent, workspace)) for agent in examples]
    blocks += [_MORE_OPENING, *map(_commented, _more())]
    return Starter(
        team=team,
        agents=tuple(agent.name for agent in agents),
        workspace=workspace,
        text="\n".join("".join(line + "\n" for line in block) for block in blocks),
    )


_OPENING = [
    "# The team of this directory. `corral up` starts it, `corral ps` shows it, `corral attach NAME` joins an",
    "# agent, `corral down` takes everything away again. Change this file as you like and say `corral up` again:",
    "# it tells you what differs.",
]
_MORE_OPENING = [
    "# For later: a service, and what happens when nobody looks. Take away the '# ' in front of a whole table, and fit",
    "# it to what you have. There are more keys than these: docs/reference/corral-toml.md has them all.",
]
_EXAMPLES_OPENING = ["# More agents to choose from: take away the '# ' in front of one, once it is installed."]


def _team_block(team: str, around: Surroundings) -> list[str]:
    if around.repo is None:
        repo = _explained('# repo = "."', "the git repository to work on; there is none here yet")
    else:
        repo = _explained(f"repo = {_quoted(around.repo)}", "the git repository that the agents work on")
    return [
        "[team]",
        _explained(f"name = {_quoted(team)}", "in every command, and in the names of branches"),
        repo,
        _explained(f"{'' if around.mcp else '# '}mcp = true", "give the agents tools to run and to watch commands"),
    ]


def _agents_opening(around: Surroundings) -> list[str]:
    if not around.installed:
        lines = [
            "# No coding agent was found on PATH, so this team has the demo agent, which is scripted and needs no",
            "# model and no key. Install one of those below, or name the command of any other program.",
        ]
    else:
        lines = ["# One table for each agent that was found on PATH: keep those that you want."]
    if around.repo is None:
        lines += [
            "#",
            '# They share one directory, because there is no git repository here. With one, set `repo = "."` above',
            '# and workspace = "worktree" below: then no agent can overwrite what another one works on.',
        ]
    elif not around.has_commit:
        lines += [
            "#",
            "# They share one directory, because the repository has no commit yet and a worktree is made from one.",
            '# After the first commit, set workspace = "worktree": then no agent can overwrite what another one',
            "# works on.",
        ]
    return lines


def _agent_block(agent: KnownAgent, workspace: str) -> list[str]:
    optional = [
        _explained("# count = 2", f"several of it: {agent.name}-1 and {agent.name}-2"),
        _explained('# env = { NODE_ENV = "test" }', "variables for it; keep secrets out of a file that you commit"),
        _explained('# prompt = "Read the README first."', "its first message, delivered when it is ready"),
        _explained('# after = ["web"]', "start it once others are ready, such as the service at the end"),
    ]
    return [
        f"# {_comment(agent.title)}. {_comment(agent.note)}".rstrip(),
        f"[agents.{agent.name}]",
        _explained(f"command = {_words(agent.command)}", "its words, or one string for a shell"),
        _explained(f'workspace = "{workspace}"', _WORKSPACES),
        _explained('restart = "never"', "when it ends, start it again? never | on-failure | always"),
        *optional,
    ]


def _more() -> tuple[list[str], ...]:
    """Tables for what comes after the first agents, each a good one as it is."""
    return (
        [
            _explained("[agents.web]", "each agent has ports of its own; PORT is the first of them"),
            'command = "python3 -m http.server $PORT"',
            _explained('kind = "service"', "it serves the others, and nobody speaks to it"),
            _explained('workspace = "shared"', "it serves what is in this directory"),
            _explained('ready = { port = "PORT" }', 'what has after = ["web"] is started once this answers'),
            _explained(
                'check = "curl -f localhost:$PORT"', "if this keeps failing, it is ended, then started again if …"
            ),
            _explained('restart = "on-failure"', "… this says so"),
        ],
        [
            "[supervision]",
            _explained('unattended = { after = "8h" }', "pause the team when nobody has looked after it for so long"),
            _explained("max_agents = 4", "the others wait until one of these has ended"),
        ],
        [
            "[notify]",
            _explained("desktop = true", "tell you on your desktop when an agent waits for you"),
        ],
    )


_WORKSPACES = 'worktree: a copy and a branch of its own | shared: with the others | "some/dir"'


def _example_block(agent: KnownAgent, workspace: str) -> list[str]:
    return [
        f"[agents.{agent.name}]  # {_comment(agent.title)}",
        f"command = {_words(agent.command)}",
        f'workspace = "{workspace}"',
    ]


def _commented(lines: list[str]) -> list[str]:
    return ["# " + line for line in lines]


def _explained(setting: str, comment: str) -> str:
    return f"{setting.ljust(_COMMENT_COLUMN - 1)} # {comment}"


def _words(command: tuple[str, ...]) -> str:
    return "[" + ", ".join(_quoted(word) for word in command) + "]"


def _quoted(text: str) -> str:
    # What JSON escapes, TOML takes; DEL is the one character that only TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """`text` on one line and without anything that a comment cannot hold."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
