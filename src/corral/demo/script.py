"""The language that demo agents understand: one instruction a line, found anywhere in a message. Pure.

A line that is no instruction is something to think about, so any prose around the instructions does no harm.
"""

from dataclasses import dataclass

LANGUAGE = """\
  write PATH: text     put text and a line end into PATH, which has no blanks; its directories are made
  append PATH: text    add text and a line end to PATH
  commit: message      git add -A and git commit, in the working directory
  say: text            print text
  wait: seconds        take that long, fractions allowed
  ask: question        ask for a permission, and go on only if it is given: 1 is yes, 2 is no
  exit: code           end with that exit code
"""

_LONGEST_WAIT = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Write:
    """Put `text` and a line end into the file `path`, after what is there if `append`."""

    path: str
    text: str
    append: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit everything that changed."""

    message: str


@dataclass(frozen=True, slots=True)
class Say:
    """Print `text`."""

    text: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Be busy for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask for a permission; without it the rest of the message is left."""

    question: str


@dataclass(frozen=True, slots=True)
class Exit:
    """End the agent."""

    code: int


@dataclass(frozen=True, slots=True)
class Think:
    """A line that is no instruction."""

    text: str


@dataclass(frozen=True, slots=True)
class Confused:
    """A line that looks like an instruction and is not a right one; `why` says what would be."""

    text: str
    why: str


Step = Write | Commit | Say | Wait | Ask | Exit | Think | Confused


def parse(text: str) -> list[Step]:
    """The steps that `text` asks for, in order; empty lines ask for nothing."""
    return [_step(line.strip()) for line in text.split("\n") if line.strip()]


def _step(line: str) -> Step:
    head, colon, rest = line.partition(":")
    verb, _, path = head.strip().partition(" ")
    path, rest = path.strip(), rest.strip()
    if not colon:
        return Think(line)
    if verb in ("write", "append"):
        if not path:
            return Confused(line, f"say which file: {verb} PATH: text")
        if " " not in path:
            return Write(path, rest, verb == "append")
    if path:
        return Think(line)
    match verb:
        case "commit":
            return Commit(rest) if rest else Confused(line, "say what the commit is about: commit: message")
        case "say":
            return Say(rest)
        case "wait":
            return _wait(line, rest)
        case "ask":
            return Ask(rest) if rest else Confused(line, "say what for: ask: may I deploy?")
        case "exit":
            return _exit(line, rest)
    return Think(line)


def _wait(line: str, value: str) -> Step:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if 0 <= seconds <= _LONGEST_WAIT:
        return Wait(seconds)
    return Confused(line, "say how many seconds, at most a day: wait: 1.5")


def _exit(line: str, value: str) -> Step:
    if len(value) <= 3 and value.isascii() and value.isdigit() and int(value) <= 255:
        return Exit(int(value))
    return Confused(line, "say a code from 0 to 255: exit: 0")
