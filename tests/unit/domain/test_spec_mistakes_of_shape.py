"""A `corral.toml` with keys that nobody knows, without keys that it needs, or with values of another type."""

import pytest

from tests.unit.domain.mistakes import AGENT, TEAM, Mistake, assert_told, told_as_several

MISTAKES = {
    # Unknown
    "a table that is none": Mistake("[agent.builder]\n" + AGENT, 1, "agent", "no such table", "did you mean 'agents'?"),
    "a table of another tool": Mistake(
        AGENT + "[volumes]\n", 5, "volumes", "no such table", "the file takes team"
    ),
    "a key of the team, nowhere": Mistake('repo = "."\n' + AGENT, 1, "repo", "no such", "it belongs below [team]"),
    "a key of the team, misspelt": Mistake(
        '[team]\nnmae = "shop"\n[agents.b]\ncommand = "x"\n', 2, "team.nmae", "no such key", "did you mean 'name'?"
    ),
    "a key of an agent, in the team": Mistake(
        TEAM + 'restart = "never"\n[agents.b]\ncommand = "x"\n',
        3,
        "team.restart",
        "no such key",
        "it belongs below an [agents.NAME] table",
    ),
    "a key of an agent, misspelt": Mistake(
        TEAM + '[agents.b]\ncomand = "x"\n', 4, "agents.b.comand", "no such key", "did you mean 'command'?"
    ),
    "a key of an agent, as others call it": Mistake(
        AGENT + "environment = {}\n", 5, "agents.builder.environment", "no such key", "did you mean 'env'?"
    ),
    "a key of the team, in an agent": Mistake(
        AGENT + 'repo = "."\n', 5, "agents.builder.repo", "no such key", "it belongs below [team]"
    ),
    "a key that nobody knows": Mistake(
        AGENT + "colour = 'red'\n",
        5,
        "agents.builder.colour",
        "no such key",
        "agents.builder takes command, count, workspace",
    ),
    "a key that would trick a terminal": Mistake(
        AGENT + '"\\u001b[31m" = 1\n', 5, 'agents.builder."\\u001b[31m"', "no such key", "takes command"
    ),
    # Missing
    "an empty team": Mistake(
        '[team]\n[agents.b]\ncommand = "x"\n', 1, "team.name", "this is missing", 'name = "shop"'
    ),
    "no team": Mistake('# hello\n[agents.b]\ncommand = "x"\n', 1, "team", "missing", 'add [team] with name = "shop"'),
    "no agents": Mistake(TEAM, 1, "agents", "there are no agents", "add [agents.builder] with command"),
    "an empty list of agents": Mistake(TEAM + "\n[agents]\n", 4, "agents", "there are no agents", "[agents.builder]"),
    "no command": Mistake(
        TEAM + "[agents.b]\n\ncount = 2\n", 3, "agents.b.command", "missing", 'command = ["claude"]'
    ),
    # Wrong type
    "a team of text": Mistake(
        'team = "shop"\n[agents.b]\ncommand = "x"\n', 1, "team", "must be a table, not a string", "[team] with name"
    ),
    "teams in an array": Mistake(
        '[[team]]\nname = "a"\n[agents.b]\ncommand = "x"\n', 1, "team", "must be a table, not an array", "[team] with"
    ),
    "agents in an array": Mistake(
        TEAM + "[[agents]]\ncommand = 'x'\n", 3, "agents", "must be a table, not an array", "[agents.builder]"
    ),
    "an agent in an array": Mistake(
        TEAM + "[[agents.b]]\ncommand = 'x'\n", 3, "agents.b", "must be a table, not an array", "[agents.b]"
    ),
    "an agent without a name": Mistake(
        TEAM + '[agents]\ncommand = ["x"]\n', 4, "agents.command", "stands in no agent's table", "[agents.builder]"
    ),
    "an agent of text": Mistake(TEAM + '[agents]\nb = "x"\n', 4, "agents.b", "must be a table", "[agents.b] with"),
    "a number for a name": Mistake(
        '[team]\nname = 7\n[agents.b]\ncommand = "x"\n', 2, "team.name", "must be a string, not an integer", 'name = "'
    ),
    "a repository of truth": Mistake(
        TEAM + 'repo = true\n[agents.b]\ncommand = "x"\n', 3, "team.repo", "not a boolean", 'repo = "."'
    ),
    "a command of a number": Mistake(
        TEAM + "[agents.b]\ncommand = 1\n", 4, "agents.b.command", "an array of strings or a string", "such as command"
    ),
    "a command of numbers": Mistake(
        TEAM + '[agents.b]\ncommand = [\n  "sleep",\n  60\n]\n',
        4,
        "agents.b.command",
        "word 2 must be a string, not an integer",
        '["sleep", "60"]',
    ),
    "a truth for a number": Mistake(
        AGENT + "count = true\n", 5, "agents.builder.count", "must be an integer, not a boolean", "count = 2"
    ),
    "a text for a number": Mistake(AGENT + 'count = "2"\n', 5, "agents.builder.count", "not a string", "count = 2"),
    "a fraction for a number": Mistake(AGENT + "count = 2.0\n", 5, "agents.builder.count", "not a float", "count = 2"),
    "a date for a text": Mistake(
        AGENT + "prompt = 2024-01-01\n", 5, "agents.builder.prompt", "not a date or time", 'prompt = "'
    ),
    "an environment of text": Mistake(
        AGENT + 'env = "A=1"\n', 5, "agents.builder.env", "must be a table, not a string", "env = { NODE_ENV"
    ),
    "a variable of a number": Mistake(
        AGENT + "[agents.builder.env]\nA = '1'\nPORT = 8080\n",
        7,
        "agents.builder.env.PORT",
        "must be a string, not an integer",
        "put the value in quotes",
    ),
    "a workspace of truth": Mistake(
        AGENT + "workspace = true\n", 5, "agents.builder.workspace", "not a boolean", 'workspace = "worktree"'
    ),
    "a restart of truth": Mistake(
        AGENT + "restart = true\n", 5, "agents.builder.restart", "not a boolean", 'restart = "on-failure"'
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_line_key_and_remedy(mistake: Mistake) -> None:
    assert_told(mistake)


def test_one_mistake_is_one_problem() -> None:
    assert told_as_several(MISTAKES) == set()
