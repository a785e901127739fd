"""A duration in a `corral.toml`: `"30s"`, `"10m"`, or a number of seconds."""

import re

from corral.domain.spec_problems import shown
from corral.domain.spec_table import Table, type_word

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m|h|d)", re.ASCII)


def read_duration(table: Table, name: str, example: str, *, least: float, most: float) -> float | None:
    """The seconds that the key says, which is there; None if it says none that it can be, which is reported."""
    value = table.data[name]
    seconds: float | None
    if type(value) in (int, float):
        seconds = float(str(value))
    elif isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if match is None:
            units = "The units are ms, s, m, h and d"
            table.wrong(name, f"{shown(value)} is no duration", f"such as {example}. {units}")
            return None
        seconds = float(match[1]) * _UNITS[match[2]]
    else:
        message = f"this must be a string or a number of seconds, not {type_word(type(value))}"
        table.wrong(name, message, f"such as {example}")
        return None
    if not least <= seconds <= most:
        within = f'from "{shown_duration(least)}" to "{shown_duration(most)}", such as {example}'
        table.wrong(name, "this is out of range", within)
        return None
    return seconds


def shown_duration(seconds: float) -> str:
    """As a person writes it, in the largest unit that leaves a whole number."""
    for unit in ("d", "h", "m", "s"):
        if seconds >= _UNITS[unit] and seconds % _UNITS[unit] == 0:
            return f"{seconds / _UNITS[unit]:.0f}{unit}"
    return f"{seconds * 1000:.0f}ms"


def roughly(seconds: float) -> str:
    """As a person says it who does not count seconds: whole ones up to two minutes, whole minutes up to two hours."""
    for unit, least in (("h", 7200.0), ("m", 120.0)):
        if seconds >= least:
            return f"{seconds / _UNITS[unit]:.0f}{unit}"
    return f"{max(1.0, seconds):.0f}s"
