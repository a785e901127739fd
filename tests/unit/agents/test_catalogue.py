"""Which profiles there are, which commands they know, and what a bad profile is told."""

import pytest

from corral.agents.catalogue import for_command, profiles, read_profile
from corral.domain.errors import BadSpecError

GOOD = """\
name = "x"
title = "X"
executable = "x"
command = ["x"]
ready = ['^> $']
paste_pause = 0.2
note = "An example."
"""
MCP = """\
[mcp]
files = [".x/a.json"]
table = "servers"
entry = { command = "{program}" }
"""


def test_the_agents_that_ship() -> None:
    assert [profile.name for profile in profiles()] == [
        "aider",
        "claude",
        "codex",
        "demo",
        "gemini",
        "opencode",
        "pi",
    ]


def test_codex_gets_a_longer_pause_before_enter_than_claude() -> None:
    pauses = {profile.name: profile.paste_pause for profile in profiles()}
    assert pauses["codex"] > pauses["claude"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("claude",), "claude"),
        (("/opt/bin/claude", "--model", "opus"), "claude"),
        (("env", "NODE_ENV=test", "codex"), "codex"),
        (("corral", "demo-agent"), "demo"),
        (("/venv/bin/corral", "demo-agent", "--script", "x"), "demo"),
        (("/venv/bin/python3.11", "-m", "corral", "demo-agent"), "demo"),
        (("python3", "-m", "aider", "--model", "x"), "aider"),
        (("python3", "-m"), None),
        (("python3", "aider"), None),
        (("corral", "ps"), None),
        (("corral",), None),
        (("bash",), None),
        (("claude-code",), None),
        (("env",), None),
        ((), None),
    ],
)
def test_a_program_is_known_by_its_file_name_and_its_first_words(command: tuple[str, ...], name: str | None) -> None:
    profile = for_command(command, shell=False)
    assert (profile.name if profile else None) == name


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("gemini --yolo", "gemini"),
        ("NODE_ENV=test exec opencode", "opencode"),
        ("'/opt/my tools/pi' --continue", "pi"),
        ("aider && echo 'done", "aider"),
        ("corral demo-agent", "demo"),
        ("make watch", None),
        ("", None),
        ("'", None),
    ],
)
def test_of_a_shell_command_the_first_program_counts(script: str, name: str | None) -> None:
    profile = for_command((script,), shell=True)
    assert (profile.name if profile else None) == name


def test_a_string_for_a_shell_is_not_one_argument() -> None:
    assert for_command(("claude --continue",), shell=False) is None


def test_a_good_profile_is_read() -> None:
    profile = read_profile(GOOD, "/x.toml")
    assert (profile.name, profile.command, profile.ready, profile.paste_pause) == ("x", ("x",), ("^> $",), 0.2)


def test_whole_seconds_are_seconds() -> None:
    assert read_profile(GOOD.replace("0.2", "1"), "/x.toml").paste_pause == 1.0


def test_where_it_looks_for_mcp_servers_may_be_said() -> None:
    assert read_profile(GOOD, "/x.toml").mcp is None
    mcp = read_profile(GOOD + MCP, "/x.toml").mcp
    assert mcp is not None
    assert (mcp.files, mcp.table, mcp.entry) == ((".x/a.json",), "servers", {"command": "{program}"})


@pytest.mark.parametrize(
    ("good", "bad", "key"),
    [
        ('files = [".x/a.json"]', "", "mcp.files"),
        ('".x/a.json"', '"/etc/a.json"', "mcp.files"),
        ('".x/a.json"', '"../a.json"', "mcp.files"),
        ('".x/a.json"', '"a/../../b.json"', "mcp.files"),
        ('table = "servers"', "table = 1", "mcp.table"),
        ('entry = { command = "{program}" }', "", "mcp.entry"),
        ('table = "servers"', 'table = "servers"\nform = 1', "mcp.form"),
    ],
)
def test_what_is_wrong_about_that_too(good: str, bad: str, key: str) -> None:
    with pytest.raises(BadSpecError, match=key):
        read_profile((GOOD + MCP).replace(good, bad), "/x.toml")


@pytest.mark.parametrize(
    ("good", "bad", "line", "key", "message"),
    [
        ('name = "x"', 'name = "y"', 1, "name", "not the name of the file"),
        ('title = "X"', "", 1, "title", "missing"),
        ('title = "X"', "title = 3", 2, "title", "must be a string"),
        ('command = ["x"]', 'command = "x"', 4, "command", "must be an array"),
        ('command = ["x"]', "command = []", 4, "command", "must be an array of strings"),
        ('command = ["x"]', 'command = ["x", 2]', 4, "command", "must be an array of strings"),
        ('command = ["x"]', 'command = ["y"]', 4, "command", "does not begin with the executable"),
        ("['^> $']", "['^(> $']", 5, "ready", "pattern 1 is no regular expression"),
        ("['^> $']", "['^> $', '>*']", 5, "ready", "pattern 2 is found in every line"),
        ("paste_pause = 0.2", "paste_pause = true", 6, "paste_pause", "must be a float, not a boolean"),
        ("paste_pause = 0.2", "paste_pause = -1", 6, "paste_pause", "out of range"),
        ("paste_pause = 0.2", "paste_pause = nan", 6, "paste_pause", "out of range"),
        ('note = "An example."', 'notes = "An example."', 7, "notes", "no such"),
    ],
)
def test_a_bad_profile_is_a_clear_error(good: str, bad: str, line: int, key: str, message: str) -> None:
    assert good in GOOD
    with pytest.raises(BadSpecError) as caught:
        read_profile(GOOD.replace(good, bad), "/x.toml")
    assert caught.value.message.startswith(f"/x.toml:{line}: {key}: ")
    assert message in caught.value.message
    assert caught.value.remedy
