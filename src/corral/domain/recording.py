"""Whether the terminals of a team are recorded, and how long that is kept: the settings of a team. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """The `[recording]` table of a team, with every default filled in."""

    #: Record what the terminals show.
    on: bool = False
    #: Seconds after which a recording is thrown away.
    keep: float = 30 * 86400.0
    #: Bytes that the recordings of one agent may have together; the oldest go first.
    max_size: int = 256 << 20


DEFAULT_RECORDING = Recording()
RECORDING_NAMES = ("on", "keep", "max_size")


def recording_as_json(recording: Recording) -> dict[str, object]:
    """All of it, for the journal."""
    return {name: getattr(recording, name) for name in RECORDING_NAMES}


def recording_differences(old: Recording, new: Recording) -> tuple[str, ...]:
    """The keys of the file that differ: `recording.on`."""
    return tuple(f"recording.{name}" for name in RECORDING_NAMES if getattr(old, name) != getattr(new, name))
