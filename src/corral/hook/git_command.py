"""Which command of git's runs this hook: git does not say, and sometimes it matters what else the command will do."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: Before the name of a command: these have a value behind them.
_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix")


def words_above() -> "list[str]":
    """The words of the git that runs the script that runs this; none if they cannot be read."""
    try:
        with open(f"/proc/{os.getppid()}/stat", "rb") as file:
            # Behind the name of the program, which may have anything in it: its state, then its parent.
            parent = int(file.read().rpartition(b") ")[2].split()[1])
        with open(f"/proc/{parent}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).split("\0")[:-1]
    except (OSError, ValueError, IndexError):
        return []


def verb_of(words: "Sequence[str]") -> str:
    """The name of the command: `fetch` of `git -C there fetch origin`; empty if there is none."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""
