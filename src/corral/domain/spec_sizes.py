"""A size in a `corral.toml`: `"512M"`, or a number of bytes. Whether it is a sensible one is its reader's to say."""

import math
import re

from corral.domain.limits_text import INFINITY, size_in_bytes
from corral.domain.spec_problems import shown
from corral.domain.spec_table import Table, type_word

#: A number without a unit.
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)

_ALMOST_A_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt])(?:i?b)?\s*", re.IGNORECASE | re.ASCII)
_NO_LIMIT = ("inf", "infinite", "max", "none", "no", "off", "unlimited", "-1", "∞")


def means_no_limit(value: object) -> bool:
    """True for what people write who want no limit, be it right or not."""
    if isinstance(value, str):
        return value.lower() in _NO_LIMIT or value.lower() == INFINITY
    return value == -1 or (isinstance(value, float) and math.isinf(value))


def read_size(table: Table, name: str, example: str) -> int | None:
    """The bytes that the key says, which is there; None if it says no size, which is reported."""
    value = table.data[name]
    if type(value) is int:
        return value
    if not isinstance(value, str):
        message = f"this must be a string or a number of bytes, not {type_word(type(value))}"
        table.wrong(name, message, f"such as {example}")
        return None
    size = size_in_bytes(value)
    if size is None:
        table.wrong(name, f"{shown(value)} is no size", _size_meant(name, value, example))
    return size


def unit_hint(value: object, most: int) -> str:
    """What to say of a number of bytes that is so small that its unit must be missing; empty if it is no such."""
    is_small = type(value) is int and 4 <= value < 100_000 and value << 20 <= most
    return f'did you mean "{value}M"? ' if is_small else ""


def _size_meant(name: str, text: str, example: str) -> str:
    units = "The units are K, M, G and T, powers of 1024"
    if len(text) <= 20:
        if found := _ALMOST_A_SIZE.fullmatch(text):
            return f'did you mean {name} = "{found[1]}{found[2].upper()}"? {units}'
        if NUMBER.fullmatch(text):
            return f'it lacks its unit: did you mean {name} = "{text}M"? {units}; bytes go without quotes'
    return f"such as {example}. {units}"
