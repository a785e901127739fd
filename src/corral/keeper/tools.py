"""What a keeper works with: one adapter for each port, picked by the wiring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corral.ports.containment import Containment
from corral.ports.keeper import Bystander
from corral.ports.recording import Launches, Log
from corral.ports.runtime import Runtime, RuntimeListener
from corral.ports.workspace import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTools:
    """The adapters of one host."""

    runtime: Callable[[str, RuntimeListener], Runtime]
    containment: Containment
    workspaces: Workspaces
    #: Who lives in some directories and is not of the team.
    bystanders: Callable[[str, Sequence[str], int], list[Bystander]]
    log: Callable[[str, str], Log]
    launches: Callable[[str], Launches]
