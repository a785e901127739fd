"""Names of files in what is told to people and models: a name must not act as a line, or on a terminal. Pure."""

from __future__ import annotations


def told_name(name: str) -> str:
    """The name as it is; between quotes and with escapes, as git writes it, if it has what cannot be read as itself.

    Bytes that are no UTF-8 may be in it as Python has them (`surrogateescape`).
    """
    if name.isprintable() and '"' not in name and "\\" not in name:
        return name
    return '"' + "".join(_told(letter) for letter in name) + '"'


def told_pattern(pattern: str) -> str:
    """A pattern of files, or what else somebody wrote: with its own quotes and escapes, if it can be read as itself."""
    return pattern if pattern.isprintable() else told_name(pattern)


def _told(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter.isprintable():
        return letter
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(letter)
    return short or "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))
