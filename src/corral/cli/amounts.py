"""Amounts as people read them: sizes, processor time, percentages, counts. What is not known is a dash."""

UNKNOWN = "-"
_UNITS = "KMGTPE"


def size(number: object) -> str:
    """Bytes in four characters at most: `512`, `1.2G`, `340M`; a unit is 1024 of the one below."""
    if not isinstance(number, int | float):
        return UNKNOWN
    amount, unit = float(number), ""
    for larger in _UNITS:
        # Not 1024: what would be 1000 to 1023 of a unit is shorter as 1.0 of the next.
        if amount < 999.5:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f}{unit}" if unit and amount < 9.95 else f"{amount:.0f}{unit}"


def duration(number: object) -> str:
    """A length of time, told more roughly the longer it is: `0.42s`, `12.3s`, `3m12s`, `5h03m`, `2d04h`."""
    if not isinstance(number, int | float):
        return UNKNOWN
    if number < 59.95:
        return f"{number:.2f}s" if number < 9.995 else f"{number:.1f}s"
    seconds = round(number)
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    minutes = seconds // 60
    if minutes < 24 * 60:
        return f"{minutes // 60}h{minutes % 60:02d}m"
    hours = minutes // 60
    return f"{hours // 24}d{hours % 24:02d}h"


def percentage(number: object) -> str:
    """Without its sign: `0.0`, `12.5`, `198`."""
    if not isinstance(number, int | float):
        return UNKNOWN
    return f"{number:.1f}" if number < 99.95 else f"{number:.0f}"


def count(number: object, limit: object = None) -> str:
    """A whole number, with its limit where there is one: `12`, `12/100`."""
    if not isinstance(number, int | float):
        return UNKNOWN
    return f"{number}/{limit}" if isinstance(limit, int | float) else f"{number}"
