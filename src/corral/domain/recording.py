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
    #: The file has the table. Without it, it is for whoever runs the instance to say.
    said: bool = False


DEFAULT_RECORDING = Recording()
RECORDING_NAMES = ("on", "keep", "max_size")


def recording_as_json(recording: Recording) -> dict[str, object]:
    """All of it, for the journal."""
    return {name: getattr(recording, name) for name in RECORDING_NAMES}


def recording_differences(old: Recording, new: Recording) -> tuple[str, ...]:
    """The keys of the file that differ: `recording.on`. A table that says the same as none does differ as well."""
    differs = tuple(f"recording.{name}" for name in RECORDING_NAMES if getattr(old, name) != getattr(new, name))
    return differs or (("recording.on",) if old.said != new.said else ())


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingTerms:
    """What whoever runs the instance says of recordings."""

    #: For teams whose file says nothing.
    default: Recording = DEFAULT_RECORDING
    #: … and for all the others, whatever theirs say.
    required: bool = False

    def of(self, team: Recording) -> Recording:
        """What holds for a team whose file says this."""
        # An earlier version did not keep whether a file has the table; one that records has it.
        return team if (team.said or team.on) and not self.required else self.default

    def overrules(self, team: Recording) -> bool:
        """True if a file says something else than what holds."""
        held = self.of(team)
        return team.said and any(getattr(team, name) != getattr(held, name) for name in RECORDING_NAMES)


def default_terms(*, shared: bool) -> RecordingTerms:
    """Where nothing is configured: people who share a server can find out afterwards what was done at a terminal."""
    return RecordingTerms(default=Recording(on=shared))


#: What holds where nobody says anything.
NO_TERMS = RecordingTerms()
