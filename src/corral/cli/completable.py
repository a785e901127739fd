"""What can be completed, for all shells alike: the visible commands, their options, and what a value may be."""

from collections.abc import Iterator

from corral.cli.command import COMMANDS, ROLES, Argument, Command, Option
from corral.cli.commands import visible

#: Prints the names of the agents (bare, or all as TEAM/AGENT) or of the teams that are up, the agents that a file
#: declares, the ids of processes, members of a host, or its OS users; nothing, quietly, where none can be told. Starts
#: nothing.
ASK_AGENTS = "corral ps --short 2>/dev/null"
ASK_FULL = "corral ps --full 2>/dev/null"
ASK_TEAMS = "corral ps --teams 2>/dev/null"
ASK_DECLARED = "corral up --names"
ASK_PROCESSES = "corral proc ls -q 2>/dev/null"
ASK_MEMBERS = "corral member ls -q 2>/dev/null"
ASK_USERS = "getent passwd 2>/dev/null | cut -d: -f1"
SHIPPED_ROLES = ("owner", "senior", "junior", "observer", "agent")


def top() -> list[Command]:
    """The commands that are not part of a group, and the groups."""
    return [entry.load() for entry in visible()]


def groups() -> list[Command]:
    """The commands that have commands of their own."""
    return [command for command in top() if command.commands]


def leaves() -> Iterator[Command]:
    """Every command that does something, also those of groups."""
    for command in top():
        yield from children(command) if command.commands else (command,)


def children(group: Command) -> list[Command]:
    """The visible commands of a group."""
    return [child for child in group.commands if not child.hidden]


def last_word(command: Command) -> str:
    """`start` of `daemon start`."""
    return command.name.rpartition(" ")[2]


def options(command: Command) -> list[Option]:
    """The visible options of a command."""
    return [option for option in command.options if not option.hidden]


def spellings(option: Option) -> list[str]:
    """`--team` and `-t`."""
    return [f"--{option.name}"] + ([f"-{option.short}"] if option.short else [])


def asking(script: str) -> str:
    """`script` with the questions in it."""
    for name, question in (
        ("AGENTS", ASK_AGENTS),
        ("FULL", ASK_FULL),
        ("TEAMS", ASK_TEAMS),
        ("DECLARED", ASK_DECLARED),
        ("PROCESSES", ASK_PROCESSES),
        ("MEMBERS", ASK_MEMBERS),
        ("USERS", ASK_USERS),
    ):
        script = script.replace(f"@ASK_{name}@", question)
    return script


def offer(of: Option | Argument) -> tuple[str, tuple[str, ...]]:
    """What may stand there: a kind (what is asked for above, `files`, `words` or none), and for `words` which."""
    if of.choices:
        return "words", of.choices
    if of.offers == COMMANDS:
        return "words", tuple(command.name for command in top())
    if of.offers == ROLES:
        return "words", SHIPPED_ROLES
    return of.offers, ()
