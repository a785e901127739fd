"""The register and the commands say the same, and every command is whole."""

import pytest

from corral.cli.command import JSON, Command
from corral.cli.commands import ENTRIES, Entry


@pytest.fixture(params=ENTRIES, ids=lambda entry: entry.name)
def entry(request: pytest.FixtureRequest) -> Entry:
    one = request.param
    assert isinstance(one, Entry)
    return one


@pytest.fixture
def commands(entry: Entry) -> list[Command]:
    """The command of the entry, and those of its group."""
    command = entry.load()
    return [command, *command.commands]


def test_the_register_repeats_what_the_command_says(entry: Entry) -> None:
    command = entry.load()
    assert (entry.name, entry.summary, not entry.group) == (command.name, command.summary, command.hidden)


def test_names_are_there_once() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


class TestEveryCommand:
    def test_does_something_or_has_commands_that_do(self, commands: list[Command]) -> None:
        for command in commands:
            assert command.run is not None or command.commands, command.name
            # A group that does something by itself takes no words: the first would be the name of a command.
            assert not (command.commands and command.arguments), command.name

    def test_has_examples_that_use_it(self, commands: list[Command]) -> None:
        for command in commands:
            assert command.examples, command.name
            for line, what in command.examples:
                assert f"corral {command.name}" in line
                assert what

    def test_takes_json(self, commands: list[Command]) -> None:
        assert all(JSON in command.options for command in commands)

    def test_spells_no_option_twice(self, commands: list[Command]) -> None:
        for command in commands:
            spellings = [name for option in command.options for name in (option.name, option.short) if name]
            assert len(spellings) == len(set(spellings)), command.name

    def test_has_a_repeated_argument_only_at_the_end(self, commands: list[Command]) -> None:
        assert not any(argument.repeated for command in commands for argument in command.arguments[:-1])

    def test_has_a_summary_of_one_short_line(self, commands: list[Command]) -> None:
        for command in commands:
            assert 0 < len(command.summary) <= 70
            assert not command.summary.endswith(".")
            assert all(len(line) <= 110 for line in command.description.splitlines()), command.name
