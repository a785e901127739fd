"""Values of options that are more than text: numbers, durations, moments, choices.

Loaded only when such an option is given.
"""

import math
import time

from corral.cli.command import COUNT, INTEGER, MOMENT, NUMBER, SECONDS, Option
from corral.domain.errors import WrongUseError

#: What `-n all` becomes: no limit.
ALL = -1

#: Longer than anybody waits, and not longer than clocks can count.
LONGEST_SECONDS = 366 * 86400.0

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def convert(option: Option, text: str) -> object:
    """The value of `option` that `text` spells; what it cannot be is a `WrongUseError`."""
    if option.choices:
        if text not in option.choices:
            from corral.cli.suggest import did_you_mean

            raise WrongUseError(
                f"--{option.name} cannot be {text!r}",
                did_you_mean(text, option.choices) or f"it is one of: {', '.join(option.choices)}",
            )
        return text
    if option.kind == INTEGER:
        return _whole(option, text, "a whole number, 0 or more")
    if option.kind == COUNT:
        return ALL if text == "all" else _whole(option, text, "a whole number, 0 or more, or all")
    if option.kind == NUMBER:
        return _number(option, text)
    if option.kind == SECONDS:
        length = seconds(text)
        if length is None:
            raise _wrong(option, text, "a duration such as 5, 500ms, 30s, 10m or 2h")
        if length > LONGEST_SECONDS:
            raise _wrong(option, text, f"at most {LONGEST_SECONDS / 86400:g}d")
        return length
    if option.kind == MOMENT:
        return _moment(option, text)
    return text


def seconds(text: str) -> float | None:
    """The length of a duration such as `90`, `1.5s`, `10m` or `1h30m`; None if `text` is none."""
    if _is_decimal(text):
        return float(text)
    total, rest = 0.0, text
    while rest:
        digits = len(rest) - len(rest.lstrip("0123456789."))
        number, rest = rest[:digits], rest[digits:]
        letters = len(rest) - len(rest.lstrip("mshdw"))
        unit, rest = rest[:letters], rest[letters:]
        if not _is_decimal(number) or unit not in _UNITS:
            return None
        total += float(number) * _UNITS[unit]
    return total if text else None


def _is_decimal(text: str) -> bool:
    whole, point, fraction = text.partition(".")
    digits = whole + fraction
    return digits.isascii() and digits.isdigit() and bool(whole) and (not point or bool(fraction))


def _whole(option: Option, text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise _wrong(option, text, what)
    return int(text)


def _number(option: Option, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _wrong(option, text, "a number")
    return number


def _moment(option: Option, text: str) -> float:
    length = seconds(text)
    if length is not None:
        return max(0.0, time.time() - length)
    from datetime import datetime, timedelta
    from datetime import time as clock

    try:
        if ":" in text[:3]:
            # A time of the clock is the last one that there was: today's, or yesterday's if today's is yet to come.
            now = datetime.now().astimezone()
            then = datetime.combine(now.date(), clock.fromisoformat(text.zfill(5)), now.tzinfo)
            return (then if then <= now else then - timedelta(days=1)).timestamp()
        # Without a zone it is the local time: that is what a person reads off the clock.
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        what = "a time back such as 10m or 2h, or a time such as 14:05, 2025-11-30T14:05 or 2025-11-30T14:05:00Z"
        raise _wrong(option, text, what) from None


def _wrong(option: Option, text: str, what: str) -> WrongUseError:
    return WrongUseError(f"--{option.name} cannot be {text!r}", f"it is {what}")
