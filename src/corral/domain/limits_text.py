"""How limits are written: `"512M"`, `"150%"`, `64`. What is shown can be put into a `corral.toml` as it is. Pure."""

import re

from corral.domain.limits import USUAL_WEIGHT, WEIGHTS

#: Says that there is no limit, as systemd does.
INFINITY = "infinity"
#: Powers of 1024, as systemd has them.
UNITS = {"T": 1024**4, "G": 1024**3, "M": 1024**2, "K": 1024}

# `2GiB` can only mean one thing. `2GB` can mean two, and is not taken.
_SIZE = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,20}))?([KMGT])(?:iB)?")
_PERCENT = re.compile(r"([0-9]{1,20})%")


def size_in_bytes(text: str) -> int | None:
    """The bytes that `512M`, `1.5G` or `2GiB` are, rounded down; None if `text` is no size."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    whole, fraction, unit = found[1], found[2] or "", UNITS[found[3]]
    # In integers: what a person writes with a point is exact, and stays so.
    parts: int = 10 ** len(fraction)
    return int(whole + fraction) * unit // parts


def percent(text: str) -> int | None:
    """150 of `150%`; None if `text` is no whole number of percent."""
    found = _PERCENT.fullmatch(text)
    return None if found is None else int(found[1])


def shown_size(size: int) -> str:
    """`512M`, `1.5G`: exact, in the largest unit that takes no more than two decimals; else the bytes."""
    for unit, factor in UNITS.items():
        if size >= factor and size * 100 % factor == 0:
            whole, hundredths = divmod(size * 100 // factor, 100)
            fraction = f".{hundredths:02}".rstrip("0") if hundredths else ""
            return f"{whole}{fraction}{unit}"
    return str(size)


def shown_limit(name: str, value: int | None) -> str:
    """A limit for people, in the words of the file; None is what holds where there is none."""
    if value is None:
        return str(USUAL_WEIGHT) if name in WEIGHTS else INFINITY
    if name == "cpu_quota":
        return f"{value}%"
    return shown_size(value) if name.startswith("memory_") else str(value)


def written_limit(name: str, value: int | None) -> str:
    """`memory_max = "512M"`, `tasks_max = 64`: the line of the file that says it."""
    text = shown_limit(name, value)
    return f"{name} = {text}" if text.isdecimal() else f'{name} = "{text}"'
