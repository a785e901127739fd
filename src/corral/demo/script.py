"""The language that demo agents understand: one instruction a line, found anywhere in a message. Pure.

A line that is no instruction is something to think about, so any prose around the instructions does no harm.
"""

from dataclasses import dataclass

LANGUAGE = """\
  write PATH: text     put text and a line end into PATH, which has no blanks; its directories are made
  append PATH: text    add text and a line end to PATH
  commit: message      git add -A and git commit, in the working directory
  merge: branch        git merge, to have what others brought into that branch
  say: text            print text
  wait: seconds        take that long, fractions allowed
  ask: question        ask for a permission, and go on only if it is given: 1 is yes, 2 is no
  claim: seconds       get a task of the team, do what its text says in these words, and say that it is done
  hold PATH: seconds   hold PATH by a lease until the task, or the message, is done
  submit: seconds      hand the branch in to the merge queue, and go on when it is merged
  exit: code           end with that exit code

The seconds of claim, hold and submit are how long it waits for that at most.
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
class Merge:
    """Merge another branch into the one that is checked out."""

    branch: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Get a task, waiting so long for one, and do what its text says."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Hold the file `path`, waiting so long for others that have it."""

    path: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Submit:
    """Hand the branch in, and wait so long until it is merged."""

    seconds: float


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


Step = Write | Commit | Merge | Claim | Hold | Submit | Say | Wait | Ask | Exit | Think | Confused

_TIMED: dict[str, type[Wait | Claim | Submit]] = {"wait": Wait, "claim": Claim, "submit": Submit}


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
    if verb == "hold" and " " not in path:
        return _hold(line, path, rest)
    if path:
        return Think(line)
    match verb:
        case "commit":
            return Commit(rest) if rest else Confused(line, "say what the commit is about: commit: message")
        case "say":
            return Say(rest)
        case "wait" | "claim" | "submit":
            return _timed(line, verb, rest)
        case "merge":
            return _merge(line, rest)
        case "ask":
            return Ask(rest) if rest else Confused(line, "say what for: ask: may I deploy?")
        case "exit":
            return _exit(line, rest)
    return Think(line)


def _hold(line: str, path: str, value: str) -> Step:
    seconds = _seconds(value)
    if path and seconds is not None:
        return Hold(path, seconds)
    return Confused(line, "say which file, and how many seconds to wait for it at most: hold PATH: 60")


def _merge(line: str, branch: str) -> Step:
    if branch and " " not in branch and not branch.startswith("-"):
        return Merge(branch)
    return Confused(line, "say which branch: merge: main")


def _timed(line: str, verb: str, value: str) -> Step:
    seconds = _seconds(value)
    if seconds is None:
        return Confused(line, f"say how many seconds, at most a day: {verb}: 1.5")
    return _TIMED[verb](seconds)


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT else None


def _exit(line: str, value: str) -> Step:
    if len(value) <= 3 and value.isascii() and value.isdigit() and int(value) <= 255:
        return Exit(int(value))
    return Confused(line, "say a code from 0 to 255: exit: 0")
