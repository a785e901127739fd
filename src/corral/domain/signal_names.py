"""Signals by name: `INT`, `SIGINT` and `2` are the same."""

from __future__ import annotations

import signal

from corral.domain.errors import WrongUseError

_NAMES = {number.name: number.value for number in signal.Signals}
_LAST = int(signal.SIGRTMAX)


def number_of(text: str) -> int:
    """The number of the signal that `text` names; what names none is a `WrongUseError` with all that do."""
    word = text.strip().upper()
    if word.isascii() and word.isdigit() and len(word) < 4 and 0 < int(word) <= _LAST:
        return int(word)
    number = _NAMES.get(word if word.startswith("SIG") else f"SIG{word}")
    if number is None:
        known = " ".join(name.removeprefix("SIG") for name in _NAMES)
        raise WrongUseError(f"there is no signal {text!r}", f"it is a number from 1 to {_LAST}, or one of: {known}")
    return number


def name_of(number: int) -> str:
    """`SIGKILL` for 9; a real-time signal is told by its distance from the first."""
    first = int(signal.SIGRTMIN)
    if first < number < _LAST:
        return f"SIGRTMIN+{number - first}"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
