"""docs/reference/cli.md, from the command table: `python -m corral.cli.reference > docs/reference/cli.md`."""

import sys

from corral.cli.command import HELP, JSON, Command, Option
from corral.cli.commands import visible
from corral.cli.help import EXIT_CODES, option_text, sentence, usage

_HEAD = """\
# The command line

<!-- Made by `python -m corral.cli.reference`. Change the command table in src/corral/cli/, not this page. -->

`corral COMMAND …`; options may stand anywhere, `--` ends them. Long options take their value as `--lines 5` or
`--lines=5`, short ones as `-n 5` or `-n5`; flags may be written together. `AGENT` is an agent of the team of the
current directory; `TEAM/AGENT`, or `--team TEAM`, names another team.

Every command takes:

"""

_OUTPUT = """\
Results go to stdout, progress and errors to stderr. With `--json` stdout has one JSON document (`logs` and `events`:
a document a line), and an error is one object on stderr: `{"error": {"code": …, "message": …, "remedy": …}}`. Colour
is used on a terminal only, and not if `NO_COLOR` is set or `TERM` is `dumb`.

## Exit codes

"""

_MORE_CODES = """\
| 124 | exec, proc wait, proc output: time is up |
| 130 | ended by ctrl-c |
| 141 | whoever read the output went away |
"""


def render() -> str:
    """The whole page."""
    text = _HEAD + _options_table((JSON, HELP)) + "\n" + _OUTPUT
    text += "| code | meaning |\n|---|---|\n"
    text += "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES) + _MORE_CODES
    for entry in visible():
        command = entry.load()
        text += _section(command)
        for child in command.commands:
            if not child.hidden:
                text += _section(child)
    return text


def _section(command: Command) -> str:
    mark = "###" if " " in command.name else "##"
    text = f"\n{mark} corral {command.name}\n\n{sentence(command.summary)}\n\n"
    text += f"```\n{usage(command)}\n```\n"
    if command.description:
        text += f"\n{_safe(command.description)}\n"
    if command.arguments:
        text += "\n| argument | meaning |\n|---|---|\n"
        for argument in command.arguments:
            choices = f" (`{'`, `'.join(argument.choices)}`)" if argument.choices else ""
            text += f"| `{argument.spelling}` | {_cell(argument.summary)}{choices} |\n"
    own = tuple(option for option in command.options if option not in (JSON, HELP) and not option.hidden)
    if own:
        text += "\n" + _options_table(own)
    if command.examples:
        text += "\n```sh\n"
        width = max(len(line) for line, _ in command.examples)
        text += "".join(f"{line.ljust(width)}  # {what}\n" for line, what in command.examples)
        text += "```\n"
    return text


def _options_table(options: tuple[Option, ...]) -> str:
    rows = [f"| `{option.spelling}` | {_cell(option_text(option))} |\n" for option in options]
    return "| option | meaning |\n|---|---|\n" + "".join(rows)


def _cell(text: str) -> str:
    return _safe(text).replace("|", "\\|")


def _safe(text: str) -> str:
    return text.replace("<", "\\<").replace("[", "\\[")


if __name__ == "__main__":
    sys.stdout.write(render())
