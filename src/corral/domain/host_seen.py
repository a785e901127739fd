"""A host as it is, as far as a set-up is about it. Records without rules; `adapters/host/look.py` makes them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corral.domain.host_names import USER

DIRECTORY = "directory"
FILE = "file"


@dataclass(frozen=True)
class PathSeen:
    """What is at a path: its kind (`directory`, `file`, or another word), whose it is, and what a file says."""

    kind: str
    owner: str
    group: str
    mode: int
    text: str | None = None
    empty: bool = False


@dataclass(frozen=True)
class UserSeen:
    """The account that has the name of the daemon's user."""

    uid: int
    group: str
    home: str
    shell: str
    #: The groups that it is in besides its own.
    groups: frozenset[str] = frozenset()
    #: It has a password, or none is asked for: somebody could become it.
    password: bool = False


#: What the daemon has written for the units of keepers, when all is well.
FOR_KEEPERS = PathSeen(FILE, USER, USER, 0o644, "CORRAL_INSTANCE=")


@dataclass(frozen=True)
class ServiceSeen:
    """The daemon's unit, as the manager of the system has it."""

    enabled: bool = False
    active: bool = False
    #: The manager has not read the file as it is now.
    unread: bool = False
    #: What runs was started before the file became what it is.
    stale: bool = False
    #: The mode of its socket, if that is one by which everybody gets in.
    open_socket: int | None = None
    #: It runs, and there is no socket by which it could be reached.
    no_socket: bool = False
    #: What is where units of keepers find which instance they are of.
    for_keepers: PathSeen | None = FOR_KEEPERS
    #: It is on its way up, or was, and takes no requests.
    starting: bool = False
    #: It ended as it started, or after, and the manager is about to start it again.
    failing: bool = False
    #: How often the manager has started it again by itself, if it is not up for all that.
    restarts: int = 0
    #: The last line that it wrote, of one that is failing.
    last_words: str = ""


@dataclass(frozen=True)
class PersonSeen:
    """A user in one of the groups of this host."""

    name: str
    uid: int
    lingers: bool
    #: The group that its record as a member asks for, and that it is not in.
    lacks: str = ""
    #: Its service manager runs.
    has_manager: bool = True
    #: Its keeper runs.
    has_keeper: bool = False
    #: Where its keeper has things, if it ever had.
    keeper_home: str = ""
    #: Where it has sockets and the like, until the user's last session ends.
    keeper_runtime: str = ""
    #: Of a user of agents: who else is in the group of its name, by which files are shared.
    shares_with: Sequence[str] = ()


@dataclass(frozen=True)
class Seen:
    """A host as it is."""

    groups: frozenset[str] = frozenset()
    user: UserSeen | None = None
    paths: Mapping[str, PathSeen] = field(default_factory=dict)
    service: ServiceSeen = ServiceSeen()
    people: Sequence[PersonSeen] = ()
    #: Users whose linger was turned on for Corral's sake.
    linger_notes: Sequence[str] = ()
    #: Directories that were made for workspaces, also where those are no more.
    places_made: Mapping[str, PathSeen] = field(default_factory=dict)
    #: What is in the place for workspaces: directories of users, by their names, and anything else.
    workspaces_of: Sequence[str] = ()
    others_in_workspaces: Sequence[str] = ()
    #: Who is in the daemon's own group and is not the daemon.
    in_daemons_group: Sequence[str] = ()
    #: … and who has that group as their first, which nobody can be taken out of.
    of_daemons_group: Sequence[str] = ()
    #: What of the audit trail is not the daemon's alone to write, in words.
    strange_audit: Sequence[str] = ()
    #: What the helper does not go through on the way to where it makes directories, in words.
    weak_ways: Sequence[str] = ()
