"""Quoting for tmux's own command language, as it is read from a control client."""

from __future__ import annotations

import re
from functools import lru_cache

#: Of what begins with a `%`, only the id of a pane is a word.
_PLAIN = re.compile(r"[A-Za-z0-9_./:=@+,-][A-Za-z0-9_./:=@%+,-]*|%[0-9]+")
#: How each character that is special between double quotes is written there; every other is itself.
_ESCAPES = {
    **{code: f"\\{code:03o}" for code in (*range(32), 127)},
    **str.maketrans({"\\": "\\\\", '"': '\\"', "$": "\\$", "\n": "\\n", "\r": "\\r", "\t": "\\t"}),
}


@lru_cache(maxsize=256)  # most words of a command are those of the one before
def quote(argument: str) -> str:
    """One argument, so that tmux reads exactly `argument`.

    A leading `%` would open a condition, a trailing `;` would end the command and `#{…}`, `~` and `$` would expand:
    anything but plain letters is put into double quotes with what is special there escaped.
    """
    if _PLAIN.fullmatch(argument):
        return argument
    return f'"{argument.translate(_ESCAPES)}"'


def command(*arguments: str) -> str:
    """A command line out of arguments."""
    return " ".join(quote(argument) for argument in arguments)
