"""What a keeper works with: one adapter for each port, picked by the wiring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from corral.ports.containment import Containment
from corral.ports.keeper import Bystander, HostPorts, Listening
from corral.ports.processes import Processes, ProcessListener
from corral.ports.recording import Launches, Log
from corral.ports.runtime import Runtime, RuntimeListener
from corral.ports.workspace import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTools:
    """The adapters of one host."""

    runtime: Callable[[str, RuntimeListener], Runtime]
    processes: Callable[[str, ProcessListener], Processes]
    #: The runtime of agents without a terminal, over the processes of their team.
    process_runtime: Callable[[str, Processes, Launches, RuntimeListener], Runtime]
    containment: Containment
    workspaces: Workspaces
    #: Who lives in some directories and is not of the team.
    bystanders: Callable[[str, Sequence[str], int], list[Bystander]]
    #: Which of some ports are taken.
    host_ports: Callable[[Sequence[int]], HostPorts]
    #: What the processes of agents (agent → pids) listen on, and who else listens on some ports.
    listening: Callable[[Mapping[str, Sequence[int]], Sequence[int]], list[Listening]]
    log: Callable[[str, str], Log]
    launches: Callable[[str], Launches]
