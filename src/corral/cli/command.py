"""What a command is: its words, its options, its examples and the function that does it, as plain data.

The parser, `--help`, the shell completions and docs/reference/cli.md are all made from this one table, so they
cannot disagree. It is read on the `ps` path, where argparse alone would cost more than everything else together;
hence no imports and no generated methods.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from corral.places import Places

# Kinds of option values.
FLAG = "flag"
TEXT = "text"
#: A whole number, 0 or more.
INTEGER = "integer"
#: A whole number, 0 or more, or the word `all`.
COUNT = "count"
#: A number with or without a fraction.
NUMBER = "number"
#: `90`, `90s`, `10m`, `2h`, `1d`, `500ms`; becomes seconds.
SECONDS = "seconds"
#: A duration that lies back, or an ISO time; becomes unix seconds.
MOMENT = "moment"

# What a shell may offer for a value.
AGENTS = "agents"
#: The agents that a corral.toml declares, up or not.
DECLARED = "declared"
TEAMS = "teams"
FILES = "files"
COMMANDS = "commands"
#: The ids of processes.
PROCESSES = "processes"
#: The members of a shared server, the OS users that could be, and roles that ship: a host may have others.
MEMBERS = "members"
USERS = "users"
ROLES = "roles"


class Option:
    """`--name`, perhaps `-s`; a flag, unless `value` names what follows it."""

    __slots__ = ("choices", "hidden", "kind", "name", "offers", "repeatable", "short", "summary", "value")

    def __init__(
        self,
        name: str,
        short: str = "",
        *,
        summary: str,
        value: str = "",
        kind: str = "",
        choices: "Sequence[str]" = (),
        repeatable: bool = False,
        offers: str = "",
        hidden: bool = False,
    ) -> None:
        self.name = name
        self.short = short
        self.summary = summary
        #: The placeholder in `--help`, such as TEAM; empty for a flag.
        self.value = value
        self.kind = kind or (TEXT if value else FLAG)
        self.choices = tuple(choices)
        self.repeatable = repeatable
        self.offers = offers
        self.hidden = hidden

    @property
    def spelling(self) -> str:
        """As a person writes it: `-n, --lines N`."""
        short = f"-{self.short}, " if self.short else ""
        value = f" {self.value}" if self.value else ""
        return f"{short}--{self.name}{value}"


class Argument:
    """A word by position. A repeated one takes all that is left and must be the last."""

    __slots__ = ("choices", "name", "offers", "repeated", "required", "summary")

    def __init__(
        self,
        name: str,
        *,
        summary: str,
        required: bool = True,
        repeated: bool = False,
        choices: "Sequence[str]" = (),
        offers: str = "",
    ) -> None:
        self.name = name
        self.summary = summary
        self.required = required
        self.repeated = repeated
        self.choices = tuple(choices)
        self.offers = offers

    @property
    def spelling(self) -> str:
        """As a usage line shows it: `AGENT`, `[AGENT]`, `[AGENT…]`."""
        word = self.name + ("…" if self.repeated else "")
        return word if self.required else f"[{word}]"


JSON = Option("json", summary="one JSON document on stdout; an error as one JSON object on stderr")
HELP = Option("help", "h", summary="show this help")
#: For every command that names agents.
TEAM = Option("team", "t", value="TEAM", summary="the team, if it is not the one of this directory", offers=TEAMS)


class Command:
    """One command, or with `commands` a group of them (`daemon start`, `daemon stop`).

    `run` gets the parsed invocation and returns the exit code; it raises a `CorralError` for everything that a
    person should read. `name` is the whole name without `corral`: `ps`, `daemon start`.
    """

    __slots__ = (
        "arguments",
        "commands",
        "description",
        "examples",
        "hidden",
        "name",
        "options",
        "run",
        "summary",
    )

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        description: str = "",
        examples: "Sequence[tuple[str, str]]" = (),
        arguments: "Sequence[Argument]" = (),
        options: "Sequence[Option]" = (),
        run: "Callable[[Invocation], int] | None" = None,
        commands: "Sequence[Command]" = (),
        hidden: bool = False,
    ) -> None:
        self.name = name
        self.summary = summary
        self.description = description
        #: Pairs of a command line and what it does.
        self.examples = tuple(examples)
        self.arguments = tuple(arguments)
        self.options = (*options, JSON, HELP)
        self.run = run
        self.commands = tuple(commands)
        self.hidden = hidden

    def option(self, name: str) -> "Option | None":
        """The option that is spelled `--name`, if there is one."""
        for option in self.options:
            if option.name == name:
                return option
        return None

    def child(self, word: str) -> "Command | None":
        """The command of this group that `word` names, if there is one."""
        for command in self.commands:
            if command.name.rpartition(" ")[2] == word:
                return command
        return None


class Invocation:
    """One parsed command line. Values are already checked and of the option's kind."""

    __slots__ = ("_places", "arguments", "command", "options", "wants_help")

    def __init__(self, command: Command) -> None:
        self._places: Places | None = None
        self.command = command
        self.options: dict[str, object] = {}
        self.arguments: dict[str, list[str]] = {}
        self.wants_help = False

    @property
    def json(self) -> bool:
        return self.flag("json")

    @property
    def places(self) -> "Places":
        """The instance that the environment names: the same for all of a command, whatever happens meanwhile."""
        if self._places is None:
            from corral.places import Places

            self._places = Places.from_environment()
        return self._places

    def flag(self, name: str) -> bool:
        return self.options.get(name) is True

    def text(self, name: str) -> "str | None":
        value = self.options.get(name)
        return value if isinstance(value, str) else None

    def texts(self, name: str) -> "list[str]":
        """The values of a repeatable option, in order."""
        value = self.options.get(name)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def integer(self, name: str) -> "int | None":
        value = self.options.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def number(self, name: str) -> "float | None":
        """The value of a number, a duration (seconds) or a moment (unix seconds)."""
        value = self.options.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def word(self, name: str) -> str:
        """The word of a required argument."""
        return self.arguments[name][0]

    def words(self, name: str) -> "list[str]":
        """The words of an optional or repeated argument, in order; none where it was left out."""
        return self.arguments.get(name, [])
