"""What a shell command does with `&`: read as bash reads it, not looked for in the text.

A command whose last item is put into the background (`server &`) is *promoted*: it is run without that `&`, as a
background process that has an id. Nothing else about it changes. A command that is not understood in full, or that
could tell the difference, is run as it was written, and whatever outlives its shell is found by other means.
"""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.shell_grammar import ShellReader, SimpleCommand
from corral.domain.shell_text import UnreadableError

#: Linux takes no longer argument, so no longer command can be run.
MAX_LENGTH = 128 * 1024

#: Programs by which an author detaches a command himself. Such a command is left as it is.
_DETACHES = frozenset({"nohup", "setsid"})
#: Run the command that their arguments name.
_RUNS_ANOTHER = frozenset("builtin command doas env exec ionice nice stdbuf sudo time timeout".split())

#: Ask about the jobs of the shell that they run in; without `&`, the last item runs in the shell that has them.
_ASKS_FOR_JOBS = frozenset("bg disown fg jobs suspend wait".split())
#: Tell one shell from another. Looked for anywhere in the text: `eval` finds them in strings as well.
_TELL_SHELLS_APART = ("BASHPID", "BASH_SUBSHELL")


@dataclass(frozen=True, slots=True)
class Analysis:
    """A command, and what is known about it."""

    #: What is to be run: as it was written, or with a blank in place of the `&` that was promoted.
    command: str
    #: It is to be run as a background process.
    promoted: bool
    #: Something in it may outlive its shell, as far as can be seen.
    backgrounds: bool
    #: Every POSIX shell reads it as bash does.
    portable: bool


def analyse(command: str) -> Analysis:
    """Read a command and say how it is to be run. Takes any text, and time in proportion to it."""
    if len(command) > MAX_LENGTH or "\0" in command:
        return Analysis(command, promoted=False, backgrounds=False, portable=False)
    reader = ShellReader(command)
    try:
        last_item, ampersand = reader.program()
    except UnreadableError:
        return Analysis(command, promoted=False, backgrounds=_backgrounds(reader), portable=False)
    if (
        ampersand is None
        or any(name in command for name in _TELL_SHELLS_APART)
        or not _is_promoted(reader.commands, last_item)
    ):
        return Analysis(command, promoted=False, backgrounds=_backgrounds(reader), portable=reader.portable)
    reader.ampersands.remove(ampersand)
    return Analysis(
        f"{command[:ampersand]} {command[ampersand + 1 :]}",
        promoted=True,
        backgrounds=_backgrounds(reader),
        portable=reader.portable,
    )


def _is_promoted(commands: list[SimpleCommand], last_item: int) -> bool:
    """True unless the author has seen to it himself, or somebody would notice that no second shell is there."""
    for command in commands:
        name = next((word for word in command.words if word not in ("builtin", "command")), None)
        in_last_item = command.at >= last_item
        if in_last_item and _runs(command, _DETACHES):
            return False
        if (in_last_item or command.in_function) and name in _ASKS_FOR_JOBS:
            return False
        # What is to happen when the shell ends would happen later.
        if name == "trap":
            return False
        # What is in the background reads nothing, whatever the shell was made to read from.
        if command.words == ("exec",) and command.input_redirected:
            return False
    return True


def _backgrounds(reader: ShellReader) -> bool:
    return bool(
        reader.ampersands or reader.coprocesses or any(_runs(command, {"setsid"}) for command in reader.commands)
    )


def _runs(command: SimpleCommand, programs: frozenset[str] | set[str]) -> bool:
    """It runs one of these programs: itself, or through one whose arguments are a command."""
    names = [word.rpartition("/")[2] for word in command.words if word is not None]
    return bool(names) and (names[0] in programs or (names[0] in _RUNS_ANOTHER and not programs.isdisjoint(names)))
