"""How many commands the agents of a team may run, and what is kept of them. Corral itself sees to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessLimits:
    """The `[processes]` table of a team, with every default filled in."""

    #: Commands of one agent that may run at once. The next one is refused; nothing that runs is ended for it.
    running: int = 2048
    #: Bytes of output that are kept of each command.
    output: int = 8 << 20
    #: Commands that have ended and are remembered, of each agent.
    records: int = 200
    #: Bytes of output that are kept of all commands of the team together.
    disk: int = 512 << 20

    @property
    def head(self) -> int:
        """So many of the bytes of `output` are the first ones: an eighth."""
        return self.output // 8

    @property
    def tail(self) -> int:
        """And so many the last ones."""
        return self.output - self.head


DEFAULT_PROCESS_LIMITS = ProcessLimits()
#: The keys of the table, in the order in which they are shown.
PROCESS_LIMIT_NAMES = tuple(field.name for field in fields(ProcessLimits))


def process_limits_as_json(limits: ProcessLimits) -> dict[str, int]:
    """All of them, for the journal."""
    return {name: getattr(limits, name) for name in PROCESS_LIMIT_NAMES}


def process_limit_differences(old: ProcessLimits, new: ProcessLimits) -> tuple[str, ...]:
    """The keys of the file that differ: `processes.running`."""
    return tuple(f"processes.{name}" for name in PROCESS_LIMIT_NAMES if getattr(old, name) != getattr(new, name))
