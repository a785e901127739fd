"""Help: for everything, with examples, from the same table that is parsed."""

import pytest

from corral.cli.commands import visible
from corral.cli.help import command_help, overview
from corral.cli.table import shown_width
from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal


def test_of_everything(corral: Corral) -> None:
    for words in (["--help"], ["-h"], ["help"], []):
        outcome = corral(*words)
        assert outcome.code == 0
        assert "usage: corral COMMAND" in outcome.out
        assert "  ps           show the agents that are up\n" in outcome.out
        assert "exit codes" in outcome.out
        assert "keeper " not in outcome.out.partition("exit codes")[0]


def test_of_one_command(corral: Corral) -> None:
    outcome = corral("help", "ps")
    assert outcome.out == corral("ps", "--help").out
    assert outcome.out.startswith("usage: corral ps [-t TEAM] [-q] [-w] [--json]\n\nShow the agents that are up.\n")
    assert "-t, --team TEAM" in outcome.out
    assert "    --json" in outcome.out
    assert "examples\n  corral ps\n" in outcome.out
    assert "--teams" not in outcome.out


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(width: int) -> None:
    commands = [entry.load() for entry in visible()]
    commands += [child for command in commands for child in command.commands]
    for command in commands:
        text = command_help(command, width=width)
        examples = {f"  {example}" for example, _ in command.examples}  # to be copied as they are
        wide = [line for line in text.splitlines() if shown_width(line) > width and line not in examples]
        assert not wide, command.name
        assert text.split() == command_help(command, width=1000).split()
        assert "?." not in text, command.name
        assert "again; may be given" not in text, "said twice"
    assert max(map(shown_width, overview(width=width).splitlines())) <= width


def test_a_terminal_gets_help_as_wide_as_it_is(real: Instance) -> None:
    code, text = run_on_terminal(real.argv("up", "--help"), cwd=real.directory, columns=60, env={"NO_COLOR": "1"})
    assert code == 0
    assert max(map(len, text.splitlines())) <= 60


def test_of_a_group_and_its_commands(corral: Corral) -> None:
    assert "status   show whether the daemon runs" in corral("daemon", "--help").out
    assert corral("help", "daemon", "stop").out == corral("daemon", "stop", "--help").out


def test_of_a_hidden_command(corral: Corral) -> None:
    assert corral("keeper", "run", "--help").code == 0


def test_a_table_in_a_description_stays_a_table(corral: Corral) -> None:
    lines = corral("demo-agent", "--help").out.splitlines()
    assert "  say: text            print text" in lines
    at = lines.index("  write PATH: text     put text and a line end into PATH, which has no blanks;")
    assert lines[at + 1] == " " * 23 + "its directories are made"
    assert max(map(len, lines)) <= 80


def test_of_what_does_not_exist(corral: Corral) -> None:
    outcome = corral("help", "upp")
    assert (outcome.code, outcome.err) == (2, "corral: there is no command 'upp'\n  → did you mean up?\n")
    assert corral("help", "daemon", "sing").code == 2
    assert corral("help", "ps", "x").code == 2


def test_as_data(corral: Corral) -> None:
    overview = corral("--help", "--json").json
    assert {"name": "ps", "summary": "show the agents that are up"} in overview["commands"]
    assert overview["exit_codes"]["3"].startswith("no such")
    command = corral("up", "--help", "--json").json
    assert command["usage"].startswith("corral up [-f FILE]")
    assert "dry-run" in [option["name"] for option in command["options"]]


def test_the_version(corral: Corral) -> None:
    assert corral("--version").out == corral("version").out
    assert corral("version").out.startswith("corral 0.")
    assert corral("version", "--json").json["version"] in corral("version").out
