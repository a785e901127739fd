"""`corral help`, and `--help` of every command, from the command table."""

import sys

from corral import __version__
from corral.cli.command import COMMANDS, Argument, Command, Invocation, Option
from corral.cli.commands import Entry, named, visible
from corral.cli.output import BOLD, paint, takes_colour, width_of, write_json
from corral.cli.table import padded, shown_width
from corral.domain.errors import WrongUseError

EXIT_CODES = (
    (0, "done"),
    (1, "failed"),
    (2, "wrong use, or a bad corral.toml"),
    (3, "no such team, agent, process or file"),
    (4, "refused: held by somebody else, or not allowed"),
    (5, "something was left behind"),
    (6, "the daemon, a keeper or tmux did not answer"),
    (7, "the audit trail does not hold"),
)

#: Longer lines are hard to read, however wide the terminal is. What goes through a pipe mostly goes to a pager.
_WIDEST, _IN_A_PIPE = 110, 80


def run(invocation: Invocation) -> int:
    words = invocation.words("COMMAND")
    if not words:
        return _show_overview(as_json=invocation.json)
    return show_command(resolve(words), as_json=invocation.json)


def resolve(words: list[str]) -> Command:
    """The command that `words` name, such as `ps` or `daemon start`."""
    command = named(words[0]).load()
    for word in words[1:]:
        child = command.child(word)
        if child is None:
            raise WrongUseError(
                f"there is no command 'corral {command.name} {word}'", f"corral {command.name} --help lists them"
            )
        command = child
    return command


def show_command(command: Command, *, as_json: bool) -> int:
    """Print the help of one command."""
    if as_json:
        write_json(described(command))
    else:
        sys.stdout.write(command_help(command, colour=takes_colour(sys.stdout), width=_width()))
    return 0


def usage(command: Command) -> str:
    """The usage line without the word `usage`."""
    words = ["corral", command.name]
    if command.commands:
        words.append("[COMMAND]" if command.run is not None else "COMMAND")
    for option in _shown(command):
        if option.name == "help":
            continue
        word = f"-{option.short}" if option.short else f"--{option.name}"
        value = f" {option.value}" if option.value else ""
        words.append(f"[{word}{value}]" + ("…" if option.repeatable else ""))
    words.extend(argument.spelling for argument in command.arguments)
    return " ".join(words)


def command_help(command: Command, *, colour: bool = False, width: int = _WIDEST) -> str:
    """The whole help text of a command or a group, in lines of at most `width`."""
    parts = [_wrapped(f"usage: {usage(command)}", width, " " * 8), _wrapped(sentence(command.summary), width)]
    if command.description:
        parts.extend(_paragraph(paragraph, width) for paragraph in command.description.split("\n\n"))
    if command.commands:
        rows = [(child.name.rpartition(" ")[2], child.summary) for child in command.commands if not child.hidden]
        parts.append(_section("commands", rows, colour, width))
    if command.arguments:
        rows = [(argument.name, _argument_text(argument)) for argument in command.arguments]
        parts.append(_section("arguments", rows, colour, width))
    rows = [(_aligned_spelling(option), option_text(option)) for option in _shown(command)]
    parts.append(_section("options", rows, colour, width))
    if command.examples:
        lines = [f"  {example}\n{_wrapped(' ' * 6 + what, width, ' ' * 6)}" for example, what in command.examples]
        parts.append(paint("examples", BOLD, colour) + "\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def option_text(option: Option) -> str:
    """What an option means, with its choices and whether it may be repeated."""
    text = option.summary
    if option.choices:
        text += f" ({' | '.join(option.choices)})"
    if option.repeatable:
        text += "; may be given several times"
    return text


def overview(*, colour: bool = False, width: int = _WIDEST) -> str:
    """The text of `corral --help`, in lines of at most `width`."""
    groups: dict[str, list[Entry]] = {}
    for entry in visible():
        groups.setdefault(entry.group, []).append(entry)
    longest = max((len(entry.name) for entries in groups.values() for entry in entries), default=0)
    parts = [
        f"corral {__version__}: a team runtime for coding agents",
        "usage: corral COMMAND … [--json] [--help]",
    ]
    for heading, entries in groups.items():
        rows = [(entry.name.ljust(longest), entry.summary) for entry in entries]
        parts.append(_section(heading, rows, colour, width))
    rows = [
        ("corral init", "look at this repository, write a corral.toml"),
        ("corral up", "start the team it declares"),
        ("corral attach builder-1", "join an agent; leave again with ctrl-b d"),
        ("corral down", "take everything down, with a receipt"),
    ]
    parts.append(_section("first steps", rows, colour, width))
    parts.append(_section("exit codes", [(str(code), meaning) for code, meaning in EXIT_CODES], colour, width))
    parts.append(
        _wrapped(
            "corral help COMMAND explains one, with examples. CORRAL_HOME and CORRAL_RUNTIME_DIR choose the instance.",
            width,
        )
    )
    return "\n\n".join(parts) + "\n"


def described(command: Command) -> dict[str, object]:
    """A command as data, for `--help --json`."""
    return {
        "name": command.name,
        "summary": command.summary,
        "usage": usage(command),
        "description": command.description,
        "arguments": [
            {"name": argument.name, "summary": argument.summary, "required": argument.required}
            for argument in command.arguments
        ],
        "options": [
            {"name": option.name, "short": option.short, "value": option.value, "summary": option.summary}
            for option in _shown(command)
        ],
        "commands": [child.name for child in command.commands if not child.hidden],
        "examples": [{"command": example, "does": what} for example, what in command.examples],
    }


def _show_overview(*, as_json: bool) -> int:
    if as_json:
        commands = [{"name": entry.name, "summary": entry.summary} for entry in visible()]
        codes = {str(code): meaning for code, meaning in EXIT_CODES}
        write_json({"version": __version__, "commands": commands, "exit_codes": codes})
    else:
        sys.stdout.write(overview(colour=takes_colour(sys.stdout), width=_width()))
    return 0


def _shown(command: Command) -> list[Option]:
    return [option for option in command.options if not option.hidden]


def _aligned_spelling(option: Option) -> str:
    return option.spelling if option.short else "    " + option.spelling


def _argument_text(argument: Argument) -> str:
    return argument.summary + (f" ({' | '.join(argument.choices)})" if argument.choices else "")


def _section(heading: str, rows: list[tuple[str, str]], colour: bool, width: int) -> str:
    left_width = max((shown_width(left) for left, _ in rows), default=0)
    indent = " " * (left_width + 5)
    body = "\n".join(_wrapped(f"  {padded(left, left_width)}   {right}", width, indent) for left, right in rows)
    return paint(heading, BOLD, colour) + "\n" + body


def _width() -> int:
    return min(width_of(sys.stdout) or _IN_A_PIPE, _WIDEST)


def _paragraph(text: str, width: int) -> str:
    """A paragraph of a description in lines of at most `width`; lines that are all set in are the rows of a table."""
    rows = text.split("\n")
    if not all(row.startswith("  ") for row in rows):
        return _wrapped(text, width)
    left = max(len(row) - len(row.lstrip(" ").partition("  ")[2].lstrip(" ")) for row in rows)
    return "\n".join(_wrapped(row, width, " " * left) for row in rows)


def _wrapped(text: str, width: int, indent: str = "") -> str:
    """`text` in lines of at most `width`, broken between words; all but the first begin with `indent`."""
    from textwrap import wrap

    # Blanks that align are no places to break at.
    head = text[: len(indent)]
    rest = " ".join(text[len(indent) :].split("\n"))
    lines = wrap(rest, max(width - len(indent), 20), break_long_words=False, break_on_hyphens=False)
    return ("\n" + indent).join([head + (lines[0] if lines else ""), *lines[1:]])


def sentence(summary: str) -> str:
    """What a command does, as a sentence of its own."""
    return summary[0].upper() + summary[1:] + ("" if summary.endswith("?") else ".")


COMMAND = Command(
    "help",
    "show help, also for one command",
    description="Without a command: what there is. With one: its options and examples, the same as COMMAND --help.",
    examples=(
        ("corral help", "the commands, in groups"),
        ("corral help up", "all about one command"),
        ("corral help daemon stop", "a command of a group"),
    ),
    arguments=(Argument("COMMAND", summary="the command to explain", required=False, repeated=True, offers=COMMANDS),),
    run=run,
)
