"""The names of commands that are run for agents."""

from __future__ import annotations

import secrets

_HEX = frozenset("0123456789abcdef")
_LENGTH = 11


def new_process_id() -> str:
    """An id that nothing ever had: `p` and ten hexadecimal digits."""
    return "p" + secrets.token_hex(5)


def is_process_id(text: str) -> bool:
    """True for what can be such an id."""
    return len(text) == _LENGTH and text[0] == "p" and _HEX.issuperset(text[1:])
