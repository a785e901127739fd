"""What git can tell of one file: who committed changes to it, and where it is being changed now.

Paths are bytes, because a file's name need not be text.
"""

from __future__ import annotations

import msgspec

from corral.ports.record import Record


class CommittedChange(Record, frozen=True):
    """A commit that changed the file."""

    commit: str
    #: Unix seconds at which it was committed.
    time: float
    #: As the commit has it: `Ann <ann@example.org>`.
    author: str
    subject: str
    #: The name that the file had then.
    path: bytes
    #: The agent's branch that it was made on, `corral/TEAM/AGENT`; empty if it was made on none that is still there.
    branch: str = ""


class OpenChange(Record, frozen=True):
    """The file as it is in a working tree, where that is in no commit."""

    #: The top of the working tree.
    workspace: str
    #: "changed", "new" or "deleted".
    how: str
    #: Unix seconds of its last change; None if it is not there.
    time: float | None = None


class OpenChanges(Record, frozen=True):
    """How a file differs from what is committed, in some working trees."""

    #: It is in one of them, or was.
    known: bool = False
    changes: list[OpenChange] = msgspec.field(default_factory=list)
    #: What could not be looked at, and why.
    unseen: list[str] = msgspec.field(default_factory=list)


class AskedMerge(Record, frozen=True):
    """A merge of the queue that may have to do with the file."""

    #: What was to be merged, and where the target was then.
    tip: str
    base: str
    #: The merge commit, once it is in the target; empty if it never got there.
    commit: str = ""


class FileHistory(Record, frozen=True):
    """What is known of one file."""

    #: It is in a working tree, or was in a commit.
    known: bool
    #: The newest first.
    commits: list[CommittedChange] = msgspec.field(default_factory=list)
    open_changes: list[OpenChange] = msgspec.field(default_factory=list)
    #: Those of the merges that were asked for which brought the file into the target, or would have.
    merges: list[AskedMerge] = msgspec.field(default_factory=list)
    #: What could not be looked at, and why.
    unseen: list[str] = msgspec.field(default_factory=list)
