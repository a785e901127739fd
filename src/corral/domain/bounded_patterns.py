"""Patterns that people write, by RE2: whatever one asks for, a search takes no longer than the text is long.

Python's own engine tries every way in which a pattern could fit, and of `(a+)+$` there are more than anybody can wait
for: one such line in a person's profile would hold up the keeper, and all agents with it.
"""

from __future__ import annotations

from typing import Any

LONGEST_PATTERN = 4096
#: What to tell whoever wrote one that is none.
SYNTAX = "it is RE2: github.com/google/re2/wiki/Syntax"
#: For the compiled form of one pattern.
_MOST_MEMORY = 1 << 20


class NoPatternError(ValueError):
    """This is no pattern; says why."""


def compiled(text: str, *, crosses_lines: bool) -> Any:
    """The pattern, for bytes; `^` and `$` are the ends of lines. `NoPatternError` if it is none.

    One that does not cross lines never fits a line feed, whatever it says.
    """
    # 10 ms to load, and most who run commands never ask for one.
    import re2

    encoded = text.encode("utf-8", "surrogateescape")
    if len(encoded) > LONGEST_PATTERN:
        raise NoPatternError(f"longer than {LONGEST_PATTERN} bytes")
    options = re2.Options()
    options.never_nl = not crosses_lines
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    try:
        return re2.compile(b"(?m)" + encoded, options)
    except re2.error as error:
        why = error.args[0]
        said = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise NoPatternError(said.replace("(?m)", "", 1)) from None
