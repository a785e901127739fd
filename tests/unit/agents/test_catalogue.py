"""Which profiles there are, which commands they know, and what a bad profile is told."""

import os
import pathlib

import pytest

from corral.agents.catalogue import for_command, is_own, problems, profiles
from corral.agents.profile_file import read_profile
from corral.domain.errors import BadSpecError
from corral.places import Places

GOOD = """\
name = "x"
title = "X"
executable = "x"
command = ["x"]
ready = ['^>$']
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
    assert (profile.name, profile.command, profile.ready, profile.paste_pause) == ("x", ("x",), ("^>$",), 0.2)


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
        ("['^>$']", "['^(>$']", 5, "ready", "pattern 1 is no regular expression"),
        ("['^>$']", "['^>$', '>*']", 5, "ready", "pattern 2 is found in every line"),
        ("['^>$']", "['^> $']", 5, "ready", "pattern 1 ends in a blank, so it is found nowhere"),
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


SCREEN = """\
[[screen]]
name = "asks"
says = "waiting"
about = "permission"
lines = ['^Allow']
unless = ['^> ']
approve = ["y"]
deny = ["n", "Enter"]
"""


def test_what_screens_say_is_read_in_order() -> None:
    idle = '[[screen]]\nname = "idle"\nsays = "idle"\ntitle = "^x$"\nblock = "^a\\\\nb$"\n'
    rules = read_profile(GOOD + SCREEN + idle, "/x.toml").rules
    assert [rule.name for rule in rules] == ["asks", "idle"]
    assert (rules[0].about, rules[0].lines, rules[0].unless) == ("permission", ("^Allow",), ("^> ",))
    assert (rules[0].approve, rules[0].deny) == (("y",), ("n", "Enter"))
    assert (rules[1].title, rules[1].block) == ("^x$", r"^a\nb$")


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ('says = "waiting"', 'says = "asleep"', "screen.says: rule 1: this is no activity"),
        ('says = "waiting"', "", "screen.says: rule 1: this is no activity"),
        ('about = "permission"', 'about = "tea"', "screen.about: rule 1: "),
        ('about = "permission"', "", "screen.about: rule 1: "),
        ('says = "waiting"', 'says = "idle"', "screen.about: rule 1: "),
        ("['^Allow']", "['^(Allow']", "screen.lines: rule 1: pattern 1 is no regular expression"),
        ("['^Allow']", "['^Allow(?!ed)']", "screen.lines: rule 1: pattern 1 is no regular expression"),
        ("['^Allow']", "['a?']", "screen.lines: rule 1: pattern 1 is found in every line"),
        ("lines = ['^Allow']", "", "screen.lines: rule 1: nothing says when it fits"),
        ('name = "asks"', 'name = "A B"', "screen.name: rule 1: this is no valid name"),
        ('approve = ["y"]', "approve = [1]", "screen.approve: this must be an array of strings"),
        ('deny = ["n", "Enter"]', 'denies = ["n"]', "screen.denies: there is no such key"),
        ('deny = ["n", "Enter"]', "[[screen]]\nname = 'asks'\nsays = 'idle'\ntitle = 'x'", "rule 2 has the name of"),
    ],
)
def test_what_is_wrong_about_a_screen_is_told(good: str, bad: str, message: str) -> None:
    assert good in SCREEN
    with pytest.raises(BadSpecError) as caught:
        read_profile(GOOD + SCREEN.replace(good, bad), "/x.toml")
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        ("'^> .+$'", "no group `text`"),
        ("'^> (?P<text>.+$'", "no regular expression"),
        ("'^> (?P<text>.+)$'", "fits no composer with nothing in it"),
        ("3", "must be a string"),
    ],
)
def test_a_draft_has_a_text(draft: str, message: str) -> None:
    with pytest.raises(BadSpecError, match=message):
        read_profile(f"{GOOD}draft = {draft}\n", "/x.toml")


def test_an_example_of_a_draft_is_a_good_one() -> None:
    with pytest.raises(BadSpecError) as caught:
        read_profile(f"{GOOD}draft = 3\n", "/x.toml")
    example = caught.value.remedy[caught.value.remedy.index("draft = ") :]
    profile = read_profile(f"{GOOD}{example}\n", "/x.toml")
    assert (profile.composer(["> "]), profile.composer(["> hello"])) == ("", "hello")


@pytest.mark.parametrize("words", ["'^> (?P<option>[1-9])\\. Other'", "'^> [1-9]\\. (?P<text>.*)$'"])
def test_a_field_for_words_has_a_number_and_a_text_and_the_example_is_a_good_one(words: str) -> None:
    with pytest.raises(BadSpecError, match="the groups `option` and `text`") as caught:
        read_profile(f"{GOOD}{SCREEN}words = {words}\n", "/x.toml")
    example = caught.value.remedy[caught.value.remedy.index("words = ") :]
    profile = read_profile(f"{GOOD}{SCREEN}{example}\n", "/x.toml")
    assert f"words = '{profile.rules[0].words}'" == example


@pytest.fixture
def own(own_directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The directory of a person's own profiles."""
    monkeypatch.setenv("CORRAL_HOME", str(own_directory / "h"))
    directory = own_directory / "h" / "profiles"
    directory.mkdir(parents=True)
    return directory


def test_a_persons_own_profiles_add_to_those_that_ship(own: pathlib.Path) -> None:
    (own / "x.toml").write_text(GOOD)
    assert [profile.name for profile in profiles()][-1] == "x"
    found = for_command(("x", "--fast"), shell=False)
    assert found is not None
    assert is_own(found)
    (own / "x.toml").unlink()
    assert for_command(("x", "--fast"), shell=False) is None


def test_one_of_the_same_name_takes_the_place_of_ours_as_long_as_it_is_good(own: pathlib.Path) -> None:
    mine = GOOD.replace('"x"', '"codex"').replace('"X"', '"My Codex"')
    (own / "codex.toml").write_text(mine)
    found = for_command(("codex",), shell=False)
    assert found is not None
    assert found.title == "My Codex"
    (own / "codex.toml").write_text(mine.replace("note", "nota"))
    found = for_command(("codex",), shell=False)
    assert found is not None
    assert found.title == "Codex"
    (problem,) = problems()
    assert (problem.file, "nota: there is no such" in problem.message) == (str(own / "codex.toml"), True)


def test_the_one_that_says_more_of_a_command_knows_it(own: pathlib.Path) -> None:
    special = GOOD.replace('name = "x"', 'name = "y"').replace('["x"]', '["x", "serve"]')
    (own / "x.toml").write_text(GOOD)
    (own / "y.toml").write_text(special)
    names = [for_command(words, shell=False) for words in (("x", "serve"), ("x", "run"))]
    assert [profile.name for profile in names if profile] == ["y", "x"]


def test_a_pipe_that_nobody_writes_to_holds_nobody_up(own: pathlib.Path) -> None:
    os.mkfifo(own / "x.toml")
    (problem,) = problems()
    assert "is no regular file" in problem.message


def test_what_cannot_be_read_is_a_problem_and_nothing_else(own: pathlib.Path) -> None:
    (own / "x.toml").mkdir()
    (own / "y.toml").write_bytes(b"\xff")
    (own / "z.toml").symlink_to(own / "nowhere")
    (own / "notes.txt").write_text("no profile")
    assert [problem.file for problem in problems()] == [str(own / "x.toml"), str(own / "y.toml")]
    assert len(profiles()) == len([profile for profile in profiles() if not is_own(profile)])


def test_the_directory_is_of_the_configuration_or_of_a_home_of_its_own() -> None:
    usual = {"HOME": "/home/ann"}
    assert Places.from_environment(usual).profiles == "/home/ann/.config/corral/profiles"
    assert Places.from_environment({**usual, "XDG_CONFIG_HOME": "/c"}).profiles == "/c/corral/profiles"
    # A daemon is told its home, also the usual one.
    told = {**usual, "CORRAL_HOME": "/home/ann/.local/state/corral"}
    assert Places.from_environment(told).profiles == "/home/ann/.config/corral/profiles"
    assert Places.from_environment({**usual, "CORRAL_HOME": "/h"}).profiles == "/h/profiles"
