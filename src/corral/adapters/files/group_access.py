"""What a group may do in a directory, for all that is made in it: by a default ACL.

With mode bits alone it would depend on the umask of every program that writes there. A default ACL takes its place.
"""

from __future__ import annotations

import errno
import os

from corral.domain.acl import DEFAULT, acl
from corral.domain.errors import CorralError
from corral.domain.group_access import NONE, READ, WRITE

_PERMISSIONS = {READ: 5, WRITE: 7}


def let_group(directory: str, access: str) -> None:
    """Have the group of a directory get at what will be made in it; with `none` nobody gets at it by an ACL.

    Raises if the file system knows no such thing: a group that was promised access would not have it.
    """
    try:
        if access != NONE:
            os.setxattr(directory, DEFAULT, acl(7, _PERMISSIONS[access]), follow_symlinks=False)
        elif DEFAULT in os.listxattr(directory, follow_symlinks=False):
            os.removexattr(directory, DEFAULT, follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        raise CorralError(
            f"a group cannot be let into {directory}: its file system has no ACLs",
            "mount it with ACLs, or leave group_access out of corral.toml",
        ) from error
