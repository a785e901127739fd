"""What a keeper works with: one adapter for each port, picked by the wiring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from corral.domain.access import Obstacles
from corral.ports.casts import OpenCasts
from corral.ports.census import Bystander
from corral.ports.containment import Containment
from corral.ports.conversations import ConversationsSeen
from corral.ports.dialogs import Behind
from corral.ports.files import SeenFile
from corral.ports.history import AskedMerge, FileHistory, OpenChanges
from corral.ports.lending import LendingGit
from corral.ports.links import RealPath, SymbolicLinks
from corral.ports.merging import MergeGit
from corral.ports.processes import Processes, ProcessListener
from corral.ports.recording import Launches, Log
from corral.ports.resources import HostPorts, Listening
from corral.ports.runtime import Runtime, RuntimeListener, TerminalRuntime
from corral.ports.transcripts import TranscriptFiles
from corral.ports.workspace import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTools:
    """The adapters of one host."""

    runtime: Callable[[str, RuntimeListener], TerminalRuntime]
    processes: Callable[[str, ProcessListener], Processes]
    #: The runtime of agents without a terminal, over the processes of their team.
    process_runtime: Callable[[str, Processes, Launches, RuntimeListener], Runtime]
    containment: Containment
    workspaces: Workspaces
    merges: MergeGit
    lending: LendingGit
    #: What git tells of a file (repository, path, working trees, most commits, merges).
    history: Callable[[str, bytes, Sequence[str], int, Sequence[AskedMerge]], Awaitable[FileHistory]]
    open_changes: Callable[[bytes, Sequence[str]], Awaitable[OpenChanges]]
    #: Why agents cannot be kept to what they may touch.
    obstacles: Obstacles
    #: What becomes a program that is kept to rules (`domain.confinement`); its argv comes behind.
    confine: Callable[[Mapping[str, object]], list[str]]
    #: What Corral is made of: programs of agents run it, and have to be able to.
    programs: Sequence[str]
    #: Who lives in some directories and is not of the team.
    bystanders: Callable[[str, Sequence[str], int], list[Bystander]]
    #: Which of some ports are taken.
    host_ports: Callable[[Sequence[int]], HostPorts]
    #: What the processes of agents (agent → pids) listen on, and who else listens on some ports.
    listening: Callable[[Mapping[str, Sequence[int]], Sequence[int]], list[Listening]]
    #: Where paths below a directory lead, and the symbolic links that are below it.
    real_paths: Callable[[str, Sequence[str]], list[RealPath]]
    symbolic_links: Callable[[str], SymbolicLinks]
    #: What files are: where paths begin, the paths, and the directories that count.
    look_at_files: Callable[[str, Sequence[str], Sequence[str]], list[SeenFile]]
    #: What a process descends from, by the pid that it had at a time (seconds after boot); None if that cannot be told.
    behind: Callable[[int, float], Behind | None]
    #: Tells whoever sits at this host (title, text); why it could not be done, empty if it was.
    desktop: Callable[[str, str], Awaitable[str]]
    #: What there is of conversations: where a program keeps them, the environment of the agent, and what is looked for.
    conversations: Callable[..., ConversationsSeen]
    transcripts: TranscriptFiles
    log: Callable[[str, str], Log]
    #: The recordings of an agent's terminal.
    casts: OpenCasts
    launches: Callable[[str], Launches]
