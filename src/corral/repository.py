"""What is at the path that a team names as its repository: git is asked, and nothing is changed.

Shared ground: the keeper looks before `up` makes anything, and a dry run looks without a keeper.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from corral.domain.repository import BARE, BRANCHES, EMPTY, MISSING, NONE, NORMAL
from corral.git import GitError, git

#: Asked so that no setting of the person's can hide a file from us.
STATUS = ("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none")
#: Not worth a word: a `corral.toml` that was written a moment ago is no work that an agent would miss.
_SPEC_ALONE = "?? corral.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """See `ports.workspace.Repository`."""

    path: str
    kind: str
    head: str = ""
    branch: str = ""
    dirty: bool = False
    problem: str = ""
    in_the_way: str = ""
    common: str = ""
    ignore_case: bool = False


def look(path: str) -> Seen:
    """What kind of repository is at `path`; never fails for one that is none."""
    if not os.path.isdir(path):
        return Seen(path=path, kind=MISSING)
    try:
        bare = git(path, "rev-parse", "--is-bare-repository").strip() == "true"
    except GitError as error:
        return Seen(path=path, kind=NONE, problem=error.message)
    common = os.path.realpath(git(path, "rev-parse", "--path-format=absolute", "--git-common-dir").rstrip("\n"))
    told = git(path, "config", "--type=bool", "--default=false", "--get", "core.ignorecase").strip()
    ignore_case = told == "true" or os.path.lexists(os.path.join(path, ".GIT"))
    try:
        head = git(path, "rev-parse", "--verify", "--quiet", "HEAD").strip()
    except GitError:
        return Seen(path=path, kind=EMPTY, common=common, ignore_case=ignore_case)
    # Not `symbolic-ref`, which fails for a HEAD that names no branch.
    branch = git(path, "rev-parse", "--symbolic-full-name", "HEAD").strip()
    branch = branch.removeprefix("refs/heads/") if branch.startswith("refs/heads/") else ""
    in_the_way = BRANCHES if git(path, "branch", "--list", BRANCHES).strip() else ""
    if bare:
        return Seen(
            path=path,
            kind=BARE,
            head=head,
            branch=branch,
            in_the_way=in_the_way,
            common=common,
            ignore_case=ignore_case,
        )
    changes = [line for line in git(path, *STATUS).splitlines() if line != _SPEC_ALONE]
    return Seen(
        path=path,
        kind=NORMAL,
        head=head,
        branch=branch,
        dirty=bool(changes),
        in_the_way=in_the_way,
        common=common,
        ignore_case=ignore_case,
    )
