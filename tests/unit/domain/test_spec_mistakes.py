"""What a bad `corral.toml` is told: the line, the key, what is wrong, and what would be right."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadSpecError
from corral.domain.spec import MAX_BYTES, decode, parse

FILE = "/home/ann/shop/corral.toml"


@dataclass(frozen=True)
class Mistake:
    """A file with one mistake, and what is said about it."""

    text: str
    line: int
    key: str
    message: str
    remedy: str


TEAM = '[team]\nname = "shop"\n'
REPO = TEAM + 'repo = "."\n'
AGENT = TEAM + '[agents.builder]\ncommand = ["claude"]\n'

MISTAKES = {
    # Not TOML
    "text without quotes": Mistake("[team]\nname = shop\n", 2, "team.name", "not TOML: invalid value", "needs quotes"),
    "a key without a value": Mistake("[team]\nname\n", 2, "syntax", "expected '=' after a key", "key = "),
    "no header's end": Mistake("[team\nname = 'a'\n", 1, "syntax", "expected ']'", "[agents.builder]"),
    "an open array": Mistake(
        AGENT + "env = {}\nprompt = [\n'a'\ncount = 2\n", 6, "agents.builder.prompt", "unclosed array", "comma"
    ),
    "an open text": Mistake('[team]\nname = "shop\n', 2, "team.name", "illegal character", 'use """'),
    "an open long text": Mistake(
        AGENT + 'prompt = """\nDo.\n\n[this]\n', 5, "agents.builder.prompt", "the file ends in the middle", "close it"
    ),
    "an open array at the end": Mistake(
        TEAM + "[agents.b]\ncommand = [\n'a',\n", 4, "agents.b.command", "the file ends in the middle", "close it"
    ),
    "a Windows path": Mistake(TEAM + 'repo = "C:\\x"\n', 3, "team.repo", "unescaped '\\'", "single quotes"),
    "two values": Mistake('[team]\nname = "a" "b"\n', 2, "team.name", "expected newline", "key = "),
    "a control character in a comment": Mistake(TEAM + "# \x00\n", 3, "syntax", "invalid character", "key = "),
    "a number without end": Mistake(
        TEAM + f"[agents.b]\ncount = {'9' * 5000}\ncommand = 'x'\n", 4, "agents.b.count", "too long", "shorter"
    ),
    "brackets without end": Mistake(TEAM + "x = " + "[" * 5000 + "\n", 3, "syntax", "nested more than 32", "close"),
    "dots without end": Mistake(TEAM + "a." * 5000 + "a = 1\n", 3, "syntax", "nested more than 32", "close"),
    # Said twice
    "a key twice": Mistake(
        AGENT + '# comment\ncommand = ["codex"]\n',
        6,
        "agents.builder.command",
        "already set, on line 4",
        "keep one of the two",
    ),
    "a key twice at the end of the file": Mistake(
        TEAM + 'name = "b"', 3, "team.name", "already set, on line 2", "keep one"
    ),
    "a table twice": Mistake(
        AGENT + "[agents.x]\ncommand = 'x'\n[agents.builder]\n",
        7,
        "agents.builder",
        "already declared, on line 3",
        "another name",
    ),
    "a table in two places": Mistake(
        AGENT + 'env = { A = "1" }\nenv.B = "2"\n',
        6,
        "agents.builder.env.B",
        "agents.builder.env is already complete, on line 5",
        "one place",
    ),
    "a variable twice": Mistake(
        AGENT + 'env = { A = "1", A = "2" }\n', 5, "agents.builder.env", "duplicate inline table key 'A'", "keep one"
    ),
    "a number and a name that meet": Mistake(
        AGENT + 'count = 2\n[agents.builder-2]\ncommand = "x"\n',
        6,
        "agents.builder-2",
        "the agent builder-2 is declared twice, by [agents.builder] and by [agents.builder-2]",
        "another name",
    ),
    # Unknown
    "a table that is none": Mistake("[agent.builder]\n" + AGENT, 1, "agent", "no such table", "did you mean 'agents'?"),
    "a table of another tool": Mistake(
        AGENT + "[services]\n", 5, "services", "no such table", "the file takes team and agents"
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
        "agents.builder takes command, count, workspace, env, restart and prompt",
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
    # The file itself
    "an empty file": Mistake("", 1, "team", "missing", "add [team]"),
    "a prompt of more than 1 MiB": Mistake(
        AGENT + f'prompt = "{"x" * MAX_BYTES}"\n', 1, "file", "more than 1048576 bytes", "keep long instructions"
    ),
    "half a character": Mistake(TEAM + "# \udce4\n", 3, "file", "not UTF-8", "save the file as UTF-8"),
}  # fmt: skip


def problems_of(text: str) -> tuple[BadSpecError, list[dict[str, object]]]:
    with pytest.raises(BadSpecError) as caught:
        parse(text, FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    return caught.value, problems


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_line_key_and_remedy(mistake: Mistake) -> None:
    error, problems = problems_of(mistake.text)
    about = [problem for problem in problems if problem["key"] == mistake.key]
    assert about, f"nothing about {mistake.key} in {error.message}"
    (problem,) = about
    assert problem["file"] == FILE
    assert problem["line"] == mistake.line
    assert mistake.message in str(problem["message"])
    assert mistake.remedy in str(problem["remedy"])
    assert f"{FILE}:{mistake.line}: {mistake.key}: {problem['message']}" in error.message.split("\n")


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_windows_line_ends_change_no_line(mistake: Mistake) -> None:
    _, problems = problems_of("\ufeff" + mistake.text.replace("\n", "\r\n"))
    assert mistake.line in [problem["line"] for problem in problems]


def test_one_mistake_is_one_problem() -> None:
    several = {name for name, mistake in MISTAKES.items() if len(problems_of(mistake.text)[1]) > 1}
    # Each of these lacks a second thing by its nature.
    assert several == {"an agent with a dot", "an empty file"}


def test_all_mistakes_of_a_file_are_told_at_once_in_the_order_of_their_lines() -> None:
    error, problems = problems_of('[agents.B]\ncmd = "x"\ncount = true\n[team]\nrepo = 1\n[agents.c]\ncommand = []\n')
    assert [(problem["line"], problem["key"]) for problem in problems] == [
        (1, "agents.B"),
        (2, "agents.B.cmd"),
        (3, "agents.B.count"),
        (4, "team.name"),
        (5, "team.repo"),
        (7, "agents.c.command"),
    ]
    assert error.message.count("\n") == 5
    assert [line.partition(": ")[0] for line in error.remedy.split("\n")] == [f"line {n}" for n in (1, 2, 3, 4, 5, 7)]


def test_the_remedy_of_a_single_mistake_stands_alone() -> None:
    error, _ = problems_of(TEAM + '[agents.b]\ncomand = "x"\n')
    assert error.remedy == "did you mean 'command'?"


def test_a_file_full_of_mistakes_is_cut_short() -> None:
    error, problems = problems_of(AGENT + "".join(f"x{number} = 1\n" for number in range(250)))
    assert len(problems) == 100
    assert error.message.endswith("and 150 more")


def test_the_exit_code_is_that_of_a_bad_spec() -> None:
    error, _ = problems_of("")
    assert (error.exit_code, error.code) == (2, "bad_spec")


def test_a_value_of_the_environment_is_never_shown() -> None:
    error, _ = problems_of(AGENT + 'env = { "BAD-NAME" = "hunter2", CORRAL_X = "hunter2", NUL = "hunter2\\u0000" }')
    assert "hunter2" not in str(error.as_json())


def test_bytes_that_are_not_utf8_are_told_with_their_line() -> None:
    with pytest.raises(BadSpecError, match=f"^{FILE}:2: file: the text is not UTF-8"):
        decode(b"[team]\nname = '\xff'\n", FILE)


def test_too_many_bytes_are_not_even_decoded() -> None:
    with pytest.raises(BadSpecError, match="more than 1048576 bytes"):
        decode(b"\xff" * (MAX_BYTES + 1), FILE)
    assert decode(b"x" * MAX_BYTES, FILE) == "x" * MAX_BYTES


EXAMPLE = (
    AGENT + 'count = 2\nenv = { A = "1", B = """x\ny""" }\nprompt = \'\'\'\nGo.\n\'\'\'\n[agents.c]\ncommand = "x"\n'
)


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(EXAMPLE)), st.integers(0, 12), st.text("\n\r\t\0 =[]{}'\"#.,\\\\a1ä\ud800", max_size=4)
        )
    )
)
def test_whatever_a_slip_of_the_hand_does_to_a_file_it_is_read_or_told_of(slips: list[tuple[int, int, str]]) -> None:
    text = EXAMPLE
    for at, length, typed in slips:
        text = text[:at] + typed + text[at + length :]
    try:
        parse(text, FILE)
    except BadSpecError as error:
        problems = error.details["problems"]
        assert isinstance(problems, list)
        for problem in problems:
            assert 1 <= problem["line"] <= text.count("\n") + 1
            assert problem["key"]
            assert problem["message"]
            assert problem["remedy"]
