"""The `[processes]` table of a `corral.toml`: how many commands may run, and what is kept of them."""

from collections.abc import Mapping

from corral.domain.limits_text import shown_size
from corral.domain.process_limits import DEFAULT_PROCESS_LIMITS, PROCESS_LIMIT_NAMES, ProcessLimits
from corral.domain.spec_sizes import means_no_limit, read_size, unit_hint
from corral.domain.spec_table import Table

#: What other words there are for these keys.
ALIASES = {
    "concurrency": "running", "limit": "running", "max": "running", "max_running": "running", "most": "running",
    "parallel": "running", "running_max": "running",
    "keep_output": "output", "log": "output", "logs": "output", "max_output": "output", "output_max": "output",
    "ended": "records", "history": "records", "keep": "records", "max_records": "records", "records_max": "records",
    "retention": "records",
    "disk_max": "disk", "max_disk": "disk", "storage": "disk", "total": "disk",
}  # fmt: skip

_SIZES = ("output", "disk")
#: The least and the most of each. Less output than this is no use to anybody; more of anything than this is not what
#: one host is made for.
_BOUNDS = {
    "running": (1, 100_000),
    "output": (64 << 10, 4 << 30),
    "records": (1, 100_000),
    "disk": (1 << 20, 1 << 40),
}


def read_process_limits(root: Table, elsewhere: Mapping[str, str]) -> ProcessLimits:
    """What the table says, and the defaults for the rest. `elsewhere` says where keys belong that it does not take."""
    table = root.table("processes", f"[processes] with {_default('running')}")
    if table is None:
        return DEFAULT_PROCESS_LIMITS
    table.only(PROCESS_LIMIT_NAMES, ALIASES, elsewhere)
    said = {name: _limit(table, name) for name in PROCESS_LIMIT_NAMES if name in table.data}
    limits = ProcessLimits(**{name: value for name, value in said.items() if value is not None})
    if limits.disk < limits.output and None not in (said.get("disk", 0), said.get("output", 0)):
        _tell_too_small(table, limits)
    return limits


def _limit(table: Table, name: str) -> int | None:
    """What the key says; None if that is wrong, which is reported."""
    least, most = _BOUNDS[name]
    kind = "size" if name in _SIZES else "number"
    within = f"{kind} from {_shown(name, least)} to {_shown(name, most)}, such as {_default(name)}"
    value = table.data[name]
    if means_no_limit(value):
        table.wrong(name, "this cannot be without limit", f"a {within}")
        return None
    number = read_size(table, name, _default(name)) if name in _SIZES else table.take(name, int, _default(name))
    if number is not None and not least <= number <= most:
        hint = unit_hint(value, most) if name in _SIZES else ""
        table.wrong(name, "this is out of range", f"{hint}{'A' if hint else 'a'} {within}")
        return None
    return number


def _tell_too_small(table: Table, limits: ProcessLimits) -> None:
    """There is less room for all than for one. Whoever wrote one of the two keys is told at that one."""
    disk, output = shown_size(limits.disk), shown_size(limits.output)
    if "disk" in table.data:
        by_default = "" if "output" in table.data else " by default"
        message = f"this is less than is kept of one command, output, which is {output}{by_default}"
        table.wrong("disk", message, f"at least {_written('disk', limits.output)}, or choose a smaller output")
    else:
        message = f"this is more than is kept of all commands together, disk, which is {disk} by default"
        table.wrong("output", message, f"add {_written('disk', limits.output)} or more, or choose a smaller output")


def _default(name: str) -> str:
    return _written(name, getattr(DEFAULT_PROCESS_LIMITS, name))


def _written(name: str, value: int) -> str:
    return f"{name} = {_shown(name, value)}"


def _shown(name: str, value: int) -> str:
    """As the file has it: a size in quotes if it has a unit, a number without."""
    text = shown_size(value) if name in _SIZES else str(value)
    return text if text.isdecimal() else f'"{text}"'
