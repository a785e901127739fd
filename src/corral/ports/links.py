"""Where names of files lead when symbolic links are followed."""

from __future__ import annotations

from corral.ports.record import Record


class RealPath(Record, frozen=True):
    """Where a path below a directory leads."""

    #: From that directory; None if it leads out of it.
    path: str | None
    #: There is a directory.
    directory: bool = False


class SymbolicLink(Record, frozen=True):
    """A symbolic link below a directory, and where it leads."""

    #: From that directory, as is `leads_to`.
    link: str
    leads_to: RealPath


class SymbolicLinks(Record, frozen=True):
    """The symbolic links below a directory."""

    links: list[SymbolicLink]
    #: False if there are more than are told of.
    whole: bool = True
