"""What the daemon may ask of a keeper. What a keeper reports by itself is in `ports.reports`.

The records are the wire format as well: msgpack frames, the same over a unix socket, `sudo` or `ssh`. A keeper decides
nothing. It answers with what it saw, and where it could not see, it says `unknown`.
"""

from __future__ import annotations

from typing import Protocol

from corral.domain.access import Obstacles
from corral.ports.casts import Recordings
from corral.ports.census import Counting
from corral.ports.checking import Checking
from corral.ports.conversations import Conversing
from corral.ports.dialogs import Dialogs
from corral.ports.executing import Executing
from corral.ports.files import LookingAtFiles
from corral.ports.lending import Lending
from corral.ports.merging import Merging
from corral.ports.notices import Notices
from corral.ports.output import Showing
from corral.ports.record import Record
from corral.ports.resources import Resources
from corral.ports.runs import Running
from corral.ports.sessions import SharedSessions
from corral.ports.typing import TypingSteps
from corral.ports.workspace import WorkspaceVerbs

#: Raised with every change that an older peer would misread; both sides compare it when they meet.
PROTOCOL = 10


class Hello(Record, frozen=True):
    """Who the keeper is; the first answer on every connection."""

    protocol: int
    version: str
    instance: str
    user: str
    host: str
    boot_id: str
    pid: int
    #: The best level of containment that the host offers, and why it offers no better one.
    containment: str
    containment_why: str = ""
    #: Why agents cannot be kept to what they may touch here.
    obstacles: Obstacles = Obstacles()


class Keeper(
    Running, WorkspaceVerbs, LookingAtFiles, Showing, Executing, Resources, Counting, Merging, Lending, Conversing,
    Dialogs, Notices, Checking, TypingSteps, SharedSessions, Recordings, Protocol,
):  # fmt: skip
    """One keeper, wherever it runs. Every call may raise `UnavailableError`: then the outcome is unknown."""

    async def hello(self) -> Hello:
        """Who this keeper is."""

    async def shelter_daemon(self, pid: int) -> None:
        """Give the daemon a place of its own, where it shares nobody's fate."""

    async def shut_down(self, *, force: bool) -> bool:
        """Ask the keeper to end. It refuses (False) while a tmux server of its is up, unless `force`."""
