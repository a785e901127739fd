"""A `corral.toml` with names that are none, and with values that cannot be."""

import pytest

from tests.unit.domain.mistakes import AGENT, REPO, TEAM, Mistake, assert_told, told_as_several

MISTAKES = {
    "mcp that is no boolean": Mistake(
        '[team]\nname = "a"\nmcp = "yes"\n[agents.b]\ncommand = "x"\n', 3, "team.mcp", "must be a boolean", "mcp = true"
    ),
    # Names
    "a team with a bad name": Mistake(
        '[team]\nname = "My Shop"\n[agents.b]\ncommand = "x"\n', 2, "team.name", "not a valid name", "'my-shop'"
    ),
    "a team without a letter": Mistake(
        '[team]\nname = "…"\n[agents.b]\ncommand = "x"\n', 2, "team.name", "not a valid name", "lower-case letters"
    ),
    "a team with an empty name": Mistake(
        '[team]\nname = ""\n[agents.b]\ncommand = "x"\n', 2, "team.name", "not a valid name", "lower-case letters"
    ),
    "an agent with a bad name": Mistake(
        TEAM + '[agents."API Server"]\ncommand = "x"\n',
        3,
        'agents."API Server"',
        "not a valid name",
        "did you mean [agents.api-server]?",
    ),
    "an agent with an underscore": Mistake(
        TEAM + '[agents.api_server]\ncommand = "x"\n', 3, "agents.api_server", "not a valid name", "[agents.api-server]"
    ),
    "an agent with a dot": Mistake(
        TEAM + '[agents.api.server]\ncommand = "x"\n', 3, "agents.api.server", "no such key", "agents.api takes"
    ),
    "a name that gets too long by its number": Mistake(
        TEAM + f'[agents.{"a" * 39}]\ncommand = "x"\ncount = 2\n', 5, f"agents.{'a' * 39}.count", "too long", "shorten"
    ),
    # Values that cannot be
    "an empty command": Mistake(TEAM + "[agents.b]\ncommand = []\n", 4, "agents.b.command", "no program", "such as"),
    "an empty program": Mistake(TEAM + '[agents.b]\ncommand = [""]\n', 4, "agents.b.command", "no program", "such as"),
    "a blank script": Mistake(TEAM + '[agents.b]\ncommand = " "\n', 4, "agents.b.command", "no program", "such as"),
    "a NUL in an argument": Mistake(
        TEAM + '[agents.b]\ncommand = ["x", "a\\u0000b"]\n', 4, "agents.b.command", "NUL", "leave it out"
    ),
    "a NUL in a script": Mistake(
        TEAM + '[agents.b]\ncommand = "x\\u0000"\n', 4, "agents.b.command", "NUL", "leave it out"
    ),
    "an argument too long for Linux": Mistake(
        TEAM + f'[agents.b]\ncommand = ["x", "{"ä" * 65536}"]\n', 4, "agents.b.command", "longer than", "a file"
    ),
    "none of it": Mistake(AGENT + "count = 0\n", 5, "agents.builder.count", "out of range", "from 1 to 1000"),
    "less than none": Mistake(AGENT + "count = -1\n", 5, "agents.builder.count", "out of range", "from 1 to 1000"),
    "too many of it": Mistake(AGENT + "count = 1001\n", 5, "agents.builder.count", "out of range", "from 1 to 1000"),
    "too many together": Mistake(
        AGENT + 'count = 600\n[agents.b]\ncommand = "x"\ncount = 600\n', 8, "agents.b.count", "more than 1000", "lower"
    ),
    "a worktree of nothing": Mistake(
        AGENT + 'workspace = "worktree"\n',
        5,
        "agents.builder.workspace",
        "a worktree needs a repository",
        'add repo = "." to [team], or write workspace = "shared"',
    ),
    "a worktree, misspelt": Mistake(
        REPO + '[agents.b]\ncommand = "x"\nworkspace = "Worktrees"\n',
        6,
        "agents.b.workspace",
        "neither worktree nor shared",
        "did you mean 'worktree'? A directory of that name is written './Worktrees'",
    ),
    "an empty workspace": Mistake(AGENT + 'workspace = ""\n', 5, "agents.builder.workspace", "empty", "some/dir"),
    "a workspace at home": Mistake(
        AGENT + 'workspace = "~/x"\n', 5, "agents.builder.workspace", "'~' is not expanded", "the whole path"
    ),
    "a repository at home": Mistake(
        TEAM + 'repo = "~/x"\n[agents.b]\ncommand = "x"\n', 3, "team.repo", "'~' is not expanded", "relative to this"
    ),
    "an empty repository": Mistake(
        TEAM + 'repo = ""\n[agents.b]\ncommand = "x"\n', 3, "team.repo", "empty", 'repo = "some/dir"'
    ),
    "a workspace of two lines": Mistake(
        AGENT + 'workspace = "a\\nb"\n', 5, "agents.builder.workspace", "control characters", "some/dir"
    ),
    "a restart that is none": Mistake(
        AGENT + 'restart = "on_failure"\n',
        5,
        "agents.builder.restart",
        '"on_failure" is no restart policy',
        "did you mean 'on-failure'? It is never, on-failure or always",
    ),
    "a restart that nobody knows": Mistake(
        AGENT + 'restart = "yes"\n', 5, "agents.builder.restart", "no restart policy", "never, on-failure or always"
    ),
    "a terminal that is none": Mistake(
        AGENT + 'terminal = "screen"\n',
        5,
        "agents.builder.terminal",
        '"screen" is nothing to run an agent in',
        "did you mean 'tmux'? It is tmux or none",
    ),
    "no terminal, in another word": Mistake(
        AGENT + 'terminal = "off"\n', 5, "agents.builder.terminal", "nothing to run", "did you mean 'none'?"
    ),
    "no terminal, as a boolean": Mistake(
        AGENT + "terminal = false\n", 5, "agents.builder.terminal", "must be a string", 'terminal = "none"'
    ),
    "a terminal with an end": Mistake(
        AGENT + "stdin = false\n", 5, "agents.builder.stdin", "reads from it", 'add terminal = "none"'
    ),
    "an input in words": Mistake(
        AGENT + 'terminal = "none"\nstdin = "no"\n', 6, "agents.builder.stdin", "must be a boolean", "stdin = false"
    ),
    "a terminal for everybody": Mistake(
        AGENT + '[defaults]\nterminal = "none"\n', 6, "defaults.terminal", "no such key", "an [agents.NAME] table"
    ),
    "a variable that is no name": Mistake(
        AGENT + 'env = { "NODE-ENV" = "x" }\n', 5, "agents.builder.env.NODE-ENV", "variable's name", "NODE_ENV"
    ),
    "a variable that begins with a digit": Mistake(
        AGENT + 'env = { 1A = "x" }\n', 5, "agents.builder.env.1A", "variable's name", "letters, digits and _"
    ),
    "a variable of ours": Mistake(
        AGENT + 'env.CORRAL_HOME = "x"\n', 5, "agents.builder.env.CORRAL_HOME", "by corral itself", "another name"
    ),
    "a NUL in a variable": Mistake(
        AGENT + 'env.A = "x\\u0000"\n', 5, "agents.builder.env.A", "NUL", "leave it out"
    ),
    "a variable too long for Linux": Mistake(
        AGENT + f'env.A = "{"x" * 131070}"\n', 5, "agents.builder.env.A", "longer than", "in a file"
    ),
    "a NUL in a prompt": Mistake(AGENT + 'prompt = "a\\u0000"\n', 5, "agents.builder.prompt", "NUL", "leave it out"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_line_key_and_remedy(mistake: Mistake) -> None:
    assert_told(mistake)


def test_one_mistake_is_one_problem() -> None:
    assert told_as_several(MISTAKES) == {"an agent with a dot"}  # which lacks a command besides
