"""Ports in a `corral.toml`: the `[ports]` table, and the names that an agent declares."""

import re
from collections.abc import Mapping

from corral.domain import names
from corral.domain.port_blocks import (
    DEFAULT_BLOCK,
    DEFAULT_POOL,
    HIGHEST,
    LARGEST_BLOCK,
    LOWEST,
    SMALLEST_BLOCK,
    Pool,
    Range,
)
from corral.domain.spec_table import Table, type_word

KEYS = ("range", "block")
_ALIASES = {
    "between": "range", "from": "range", "pool": "range", "ports": "range",
    "count": "block", "each": "block", "per_agent": "block", "size": "block",
}  # fmt: skip
_RANGE_EXAMPLE = f'range = "{DEFAULT_POOL.shown}"'
_BLOCK_EXAMPLE = f"block = {DEFAULT_BLOCK}"
_NAMES_EXAMPLE = 'ports = ["web", "api"]'
_RANGE = re.compile(r"([0-9]{1,5})\s*-\s*([0-9]{1,5})")


def read_pool(root: Table, elsewhere: Mapping[str, str]) -> Pool:
    """What the `[ports]` table says. `elsewhere` says where keys belong that it does not take."""
    table = root.table("ports", f"[ports] with {_RANGE_EXAMPLE}")
    if table is None:
        return DEFAULT_POOL
    table.only(KEYS, _ALIASES, elsewhere)
    block = _block(table)
    said = _range(table)
    if said is not None and said[1] - said[0] + 1 < block:
        table.wrong("range", f"this has no room for one block, which is {block} ports", f"such as {_RANGE_EXAMPLE}")
    return Pool(said, block)


def read_port_names(table: Table, block: int) -> tuple[str, ...]:
    """The names that an agent's `ports` declares, in their order."""
    said = table.take("ports", list, _NAMES_EXAMPLE)
    found: list[str] = []
    for number, name in enumerate(said or (), 1):
        if not isinstance(name, str):
            message = f"name {number} must be a string, not {type_word(type(name))}"
            table.wrong("ports", message, f"ports have names, and corral chooses the numbers: {_NAMES_EXAMPLE}")
            return ()
        if not names.is_valid(name):
            nearest = names.suggestion(name)
            hint = f"did you mean '{nearest}'? " if nearest else ""
            table.wrong("ports", f"name {number} is not a valid name for a port", f"{hint}A name has {names.RULE}")
            return ()
        if name in found:
            table.wrong("ports", f"{name} is declared twice", "leave one of them out")
            return ()
        found.append(name)
    if len(found) >= block:
        message = f"these are {len(found)} names, and a block of {block} ports has room for {block - 1}"
        table.wrong("ports", message, f"add block = {len(found) + 1} or more to [ports]: the first port is PORT")
    return tuple(found)


def _block(table: Table) -> int:
    block = table.take("block", int, _BLOCK_EXAMPLE)
    if block is None:
        return DEFAULT_BLOCK
    if not SMALLEST_BLOCK <= block <= LARGEST_BLOCK:
        wanted = f"a number from {SMALLEST_BLOCK} to {LARGEST_BLOCK}, such as {_BLOCK_EXAMPLE}"
        table.wrong("block", "this is out of range", wanted)
        return DEFAULT_BLOCK
    return block


def _range(table: Table) -> Range | None:
    said = table.take("range", str, _RANGE_EXAMPLE)
    if said is None:
        return None
    match = _RANGE.fullmatch(said.strip())
    if match is None:
        table.wrong("range", "this is no range of ports", f"the first and the last, such as {_RANGE_EXAMPLE}")
        return None
    low, high = int(match[1]), int(match[2])
    if not LOWEST <= low <= high <= HIGHEST:
        wanted = f"from {LOWEST} on, up to {HIGHEST}, the lower one first, such as {_RANGE_EXAMPLE}"
        table.wrong("range", "this is out of range", wanted)
        return None
    return low, high
