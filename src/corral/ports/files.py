"""What a keeper says of files that somebody named: where they are, and what they have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from corral.ports.record import Record

if TYPE_CHECKING:
    from corral.ports.history import AskedMerge, FileHistory, OpenChanges
    from corral.ports.links import RealPath, SymbolicLinks


class SeenFile(Record, frozen=True):
    """A file that somebody named."""

    #: Where it is when symbolic links are followed.
    real: str
    #: The directory that it is below, of those that were named; empty if it is below none, and then nothing is said.
    top: str = ""
    #: Its path from there.
    below: str = ""
    #: Stands for its contents; empty if it is not there.
    stamp: str = ""


class LookingAtFiles(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def real_paths(self, directory: str, paths: list[str]) -> list[RealPath]:
        """Where each path below the directory leads. What is not there is taken as it is."""

    async def symbolic_links(self, directory: str) -> SymbolicLinks:
        """The symbolic links below the directory that git knows of, or that are found where there is no git."""

    async def look_at_files(self, *, cwd: str, paths: list[str], tops: list[str]) -> list[SeenFile]:
        """What each of the paths is now, relative ones from `cwd`. Of what is below none of `tops`, where it is."""

    async def file_history(
        self, *, repo: str, path: bytes, workspaces: list[str], limit: int, merges: list[AskedMerge]
    ) -> FileHistory:
        """What git tells of one file of the repository, of it in these working trees and of these merges.

        Changes nothing.
        """

    async def open_changes(self, *, path: bytes, workspaces: list[str]) -> OpenChanges:
        """What git tells of one file in working trees of the keeper's own user. Changes nothing."""
