"""From words to an invocation, by the command table.

Options may stand anywhere, as `--lines 5`, `--lines=5`, `-n 5`, `-n5`, and flags in clusters (`-rf`); `--` ends
them. Every mistake is a `WrongUseError` that says what would be right.
"""

from corral.cli.command import FLAG, TEXT, Command, Invocation, Option
from corral.domain.errors import WrongUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Kinds whose values may begin with a dash.
_SIGNED = ("number", "seconds", "integer", "count")


def parse(command: Command, argv: "Sequence[str]") -> Invocation:
    """The invocation that `argv` (without the command's own name) means; a group hands on to its command."""
    while command.commands:
        at = next((at for at, word in enumerate(argv) if not _is_of_an_option(command, argv, at, word)), None)
        if at is None and command.run is not None:
            return _Reader(command, argv).read()  # what it does by itself
        child = None if at is None else command.child(argv[at])
        if at is None or child is None:
            return _group_itself(command, argv)
        command, argv = child, [*argv[:at], *argv[at + 1 :]]
    return _Reader(command, argv).read()


def asks_for_json(argv: "Sequence[str]") -> bool:
    """True if `--json` is among the options: known even where the rest cannot be parsed."""
    for word in argv:
        if word == "--json":
            return True
        if word == "--":
            break
    return False


def _is_of_an_option(command: Command, argv: "Sequence[str]", at: int, word: str) -> bool:
    """True for an option of a group, and for the value that follows one (`-t show`, `--team show`)."""
    if word.startswith("-"):
        return True
    before = argv[at - 1] if at else ""
    return any(
        option.kind != FLAG and before in (f"--{option.name}", option.short and f"-{option.short}")
        for option in command.options
        if before
    )


def _group_itself(command: Command, argv: "Sequence[str]") -> Invocation:
    words = [word for word in argv if not word.startswith("-")]
    if not words and ("--help" in argv or "-h" in argv):
        invocation = Invocation(command)
        invocation.wants_help = True
        return invocation
    known = [child.name.rpartition(" ")[2] for child in command.commands if not child.hidden]
    choice = f"one of: {', '.join(known)}"
    if not words:
        raise WrongUseError(f"{command.name} needs {choice}", f"corral {command.name} --help explains them")
    from corral.cli.suggest import did_you_mean

    raise WrongUseError(
        f"there is no command 'corral {command.name} {words[0]}'", did_you_mean(words[0], known) or f"it is {choice}"
    )


class _Reader:
    """One pass over the words of a command."""

    __slots__ = ("argv", "at", "command", "invocation", "positional")

    def __init__(self, command: Command, argv: "Sequence[str]") -> None:
        self.command = command
        self.argv = argv
        self.at = 0
        self.positional: list[str] = []
        self.invocation = Invocation(command)

    def read(self) -> Invocation:
        while self.at < len(self.argv):
            word = self.argv[self.at]
            self.at += 1
            if word == "--":
                self.positional.extend(self.argv[self.at :])
                break
            if word.startswith("--"):
                self.long(word)
            elif word.startswith("-") and word != "-":
                self.cluster(word)
            else:
                self.positional.append(word)
            if self.invocation.wants_help:
                return self.invocation
        self.place_arguments()
        return self.invocation

    def long(self, word: str) -> None:
        name, equals, value = word[2:].partition("=")
        option = self.command.option(name)
        if option is None:
            raise self.unknown("--" + name)
        if option.kind == FLAG:
            if equals:
                raise WrongUseError(f"--{name} takes no value", f"write --{name}, without ={value}")
            self.take(option, True)
        else:
            self.take(option, value if equals else self.following(option, "--" + name))

    def cluster(self, word: str) -> None:
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            option = self.short_option(letter)
            if option is None:
                raise self.unknown("-" + letter, word)
            if option.kind == FLAG:
                self.take(option, True)
                continue
            self.take(option, letters.removeprefix("=") if letters else self.following(option, "-" + letter))
            return

    def short_option(self, letter: str) -> "Option | None":
        for option in self.command.options:
            if option.short == letter:
                return option
        return None

    def following(self, option: Option, spelling: str) -> str:
        """The next word as the value of `option`; what looks like another option is taken for a forgotten value."""
        if self.at < len(self.argv):
            word = self.argv[self.at]
            if word == "-" or not word.startswith("-") or (option.kind in _SIGNED and word[1:2].isdigit()):
                self.at += 1
                return word
        raise WrongUseError(f"{spelling} needs a value: {spelling} {option.value}", self.see_help())

    def take(self, option: Option, value: "str | bool") -> None:
        if option.name == "help":
            self.invocation.wants_help = True
            return
        checked: object = value
        if isinstance(value, str) and (option.kind != TEXT or option.choices):
            # Only commands that have such options pay for what it takes to read them.
            from corral.cli.values import convert

            checked = convert(option, value)
        if option.repeatable:
            before = self.invocation.options.setdefault(option.name, [])
            assert isinstance(before, list)
            before.append(checked)
        else:
            self.invocation.options[option.name] = checked

    def place_arguments(self) -> None:
        words = self.positional
        for argument in self.command.arguments:
            taken = words if argument.repeated else words[:1]
            words = words[len(taken) :]
            if not taken:
                if argument.required:
                    raise WrongUseError(f"{self.command.name} needs {argument.name}", self.see_help())
                continue
            for word in taken:
                if argument.choices and word not in argument.choices:
                    raise self.no_choice(word, argument.name, argument.choices)
            self.invocation.arguments[argument.name] = list(taken)
        if words:
            raise WrongUseError(f"{self.command.name} does not take {words[0]!r}", self.see_help())

    def no_choice(self, word: str, name: str, choices: "Sequence[str]") -> WrongUseError:
        from corral.cli.suggest import did_you_mean

        return WrongUseError(
            f"{name} cannot be {word!r}", did_you_mean(word, choices) or f"it is one of: {', '.join(choices)}"
        )

    def unknown(self, spelling: str, whole: str = "") -> WrongUseError:
        from corral.cli.suggest import did_you_mean

        known = [("--" + option.name) for option in self.command.options if not option.hidden]
        inside = f" (in {whole})" if len(whole) > 2 else ""
        guess = did_you_mean(spelling, known) if spelling.startswith("--") else ""
        remedy = guess or self.see_help()
        if any(argument.repeated and argument.name in ("TEXT", "ARGV") for argument in self.command.arguments):
            remedy += "; text that begins with a dash goes after --"
        return WrongUseError(f"{self.command.name} has no option {spelling}{inside}", remedy)

    def see_help(self) -> str:
        return f"corral {self.command.name} --help explains it"
