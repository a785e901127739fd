"""The `[recording]` table of a `corral.toml`: whether terminals are recorded, and how long that is kept."""

from collections.abc import Mapping

from corral.domain.limits_text import shown_size
from corral.domain.recording import DEFAULT_RECORDING, RECORDING_NAMES, Recording
from corral.domain.spec_durations import read_duration
from corral.domain.spec_sizes import read_size
from corral.domain.spec_table import Table

#: What other words there are for these keys.
ALIASES = {
    "enabled": "on", "record": "on", "enable": "on",
    "age": "keep", "retention": "keep", "max_age": "keep", "days": "keep",
    "size": "max_size", "disk": "max_size", "limit": "max_size",
}  # fmt: skip
_DAY = 86400.0
_SHORTEST, _LONGEST = 60.0, 3650 * _DAY
#: Less than a few screens is no recording.
_LEAST, _MOST = 1 << 20, 1 << 40
ON_EXAMPLE = "on = true"
_KEEP_EXAMPLE, _SIZE_EXAMPLE = 'keep = "30d"', 'max_size = "256M"'


def read_recording(root: Table, elsewhere: Mapping[str, str]) -> Recording:
    """What the table says, and the defaults for the rest. `elsewhere` says where keys belong that it does not take."""
    table = root.table("recording", "[recording] with on = true")
    if table is None:
        return DEFAULT_RECORDING
    table.only(RECORDING_NAMES, ALIASES, elsewhere)
    on = table.take("on", bool, ON_EXAMPLE)
    # Who writes the table wants it, unless it says otherwise.
    return Recording(on=True if on is None else on, keep=keep_of(table), max_size=size_of(table), said=True)


def keep_of(table: Table) -> float:
    """How long recordings are kept."""
    keep = read_duration(table, "keep", _KEEP_EXAMPLE, least=_SHORTEST, most=_LONGEST) if "keep" in table.data else None
    return DEFAULT_RECORDING.keep if keep is None else keep


def size_of(table: Table) -> int:
    """How much is kept of each agent."""
    if "max_size" not in table.data:
        return DEFAULT_RECORDING.max_size
    size = read_size(table, "max_size", _SIZE_EXAMPLE)
    if size is not None and not _LEAST <= size <= _MOST:
        within = f"a size from {shown_size(_LEAST)} to {shown_size(_MOST)}"
        table.wrong("max_size", "this is out of range", f"{within}, such as {_SIZE_EXAMPLE}")
        return DEFAULT_RECORDING.max_size
    return DEFAULT_RECORDING.max_size if size is None else size
