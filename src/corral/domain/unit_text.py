"""Words as systemd reads them in a unit file. Pure."""

from __future__ import annotations


def quoted(word: str) -> str:
    """One word of a command line: systemd expands nothing in it."""
    return f'"{escaped(word).replace("$", "$$")}"'


def quoted_path(path: str) -> str:
    """One of a list of paths, where variables are nothing."""
    return f'"{escaped(path)}"'


def escaped(text: str) -> str:
    """As systemd reads it within double quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
