"""Whose repositories our git works with, besides those of its own user.

git runs what a repository's configuration says, so it does not work with one of somebody else. A user of agents has to:
the repository of a team belongs to a person, and the team's worktrees to that user. Whoever may have agents run by a
user (`domain.run_as`) can run anything as that user anyway; so their repositories are trusted, for the one call and by
their exact paths. Nobody's settings are changed, and nothing is trusted elsewhere.
"""

from __future__ import annotations

import os
import stat


def settings_for(directory: str) -> tuple[str, ...]:
    """Arguments that let git work in `directory`, the top of a repository or its git directory.

    Empty for a directory of this user, and for one of somebody who may not have agents run by this user: git decides.
    """
    try:
        if os.stat(directory).st_uid == os.geteuid():
            return ()
        path = os.path.realpath(directory)
        owners = {os.lstat(path).st_uid}
        inner = os.path.join(path, ".git")
        if os.path.lexists(inner):
            found = os.lstat(inner)
            if not stat.S_ISDIR(found.st_mode):
                return ()  # what it leads to may be anybody's
            owners.add(found.st_uid)
    except OSError:
        return ()  # git says what is the matter
    if not all(_may_run_us(uid) for uid in owners):
        return ()
    return ("-c", f"safe.directory={path}", "-c", f"safe.directory={inner}")


def _may_run_us(uid: int) -> bool:
    if uid == os.geteuid():
        return True
    import grp  # Only here: hardly anybody has a repository of somebody else.
    import pwd

    from corral.domain import run_as
    from corral.domain.errors import RefusedError

    def groups(account: pwd.struct_passwd) -> list[str]:
        return [grp.getgrgid(gid).gr_name for gid in os.getgrouplist(account.pw_name, account.pw_gid)]

    try:
        own, other = pwd.getpwuid(os.geteuid()), pwd.getpwuid(uid)
        first = grp.getgrgid(own.pw_gid).gr_name
        run_as.check("", other.pw_name, groups(other), own.pw_name, first, groups(own), own.pw_uid)
    except (KeyError, RefusedError):
        return False  # a number without a name, or somebody who may not
    return True
