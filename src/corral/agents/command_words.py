"""The words of a command: which program it starts, and how words are put behind that. Pure."""

from __future__ import annotations

import io
import os.path
import re
import shlex
from collections.abc import Sequence

#: Words that may stand before the program that they start.
_IN_FRONT = re.compile(r"exec|(?:.*/)?env|[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
#: `python -m aider` starts aider.
_PYTHON = re.compile(r"python[0-9.]*")


def words_of(command: Sequence[str], shell: bool) -> list[str]:
    """The words of a command; of one for a shell, as far as they can be told without running it."""
    if not shell or not command:
        return list(command)
    try:
        return shlex.split(command[0])
    except ValueError:
        # An open quote somewhere further on; the first word is still a good guess.
        return command[0].split()


def program_at(words: Sequence[str]) -> int:
    """Where the program stands in the words; behind all of them if there is none."""
    at = 0
    while at < len(words) and _IN_FRONT.fullmatch(words[at]):
        at += 1
    if at < len(words) and _PYTHON.fullmatch(os.path.basename(words[at])) and words[at + 1 : at + 2] == ["-m"]:
        at += 2
    return min(at, len(words))


def started(command: Sequence[str], shell: bool) -> tuple[str, ...]:
    """The program that a command starts, without its directory, and what follows it; empty if it starts none."""
    words = words_of(command, shell)
    words = words[program_at(words) :]
    return (os.path.basename(words[0]), *words[1:]) if words else ()


def with_words(command: Sequence[str], shell: bool, known: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """The command with some words behind those that start its program (`known`), before whatever follows them."""
    if not words:
        return tuple(command)
    behind = program_at(words_of(command, shell)) + len(known)
    if not shell:
        return (*command[:behind], *words, *command[behind:])
    # A script stays as it is, but for the words that are put in.
    script = command[0]
    end = _end_of_word(script, behind)
    return (f"{script[:end].rstrip()} {shlex.join(words)} {script[end:]}".rstrip(),)


def _end_of_word(script: str, count: int) -> int:
    """The place behind so many words of a script."""
    source = io.StringIO(script)
    reader = shlex.shlex(source, posix=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        for _ in range(count):
            reader.get_token()
    except ValueError:
        return len(script)
    return source.tell()
