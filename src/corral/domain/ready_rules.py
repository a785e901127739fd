"""When a run counts as ready, where its table says so. Pure.

Without a rule a run is ready once it can take a message, if that is waited for, and else as soon as it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corral.domain.port_blocks import NAMED_VARIABLE, PORT_VARIABLE


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadyRule:
    """The `ready` of a table. One of the three is set, or none of them: then there is no rule."""

    #: Somebody of its processes listens on this port: a name from its `ports`, or a number.
    port: str = ""
    #: A line of its output has this in it, a regular expression.
    log: str = ""
    #: This command, for a shell, ends with 0.
    command: str = ""

    def __bool__(self) -> bool:
        return bool(self.port or self.log or self.command)

    @property
    def shown(self) -> str:
        """What is waited for, in words."""
        if self.port:
            return f"port {self.port} to be listened on"
        return f"a line with {self.log!r}" if self.log else f"{self.command!r} to succeed"


#: Nothing has to be seen.
NO_RULE = ReadyRule()


def port_number(port: str, environment: Mapping[str, str]) -> int | None:
    """The number of a port, by the environment of the agent that it is a port of; None if there is no such port.

    A name of its own wins over a number that is written the same.
    """
    known = environment if port == PORT_VARIABLE else {port: environment.get(named_variable(port), port)}
    found = known.get(port, "")
    return int(found) if found.isascii() and found.isdigit() else None


def named_variable(port: str) -> str:
    """The variable that an agent finds the number of one of its ports in."""
    return NAMED_VARIABLE + port.upper().replace("-", "_")
