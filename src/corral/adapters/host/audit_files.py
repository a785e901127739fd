"""Seeing the files of the audit trail: whether they are the daemon's alone still. Only looks."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from corral.domain.host_names import HOME, RUNTIME
from corral.places import Places

_AUDIT = Places(HOME, RUNTIME).audit_dir


def strange(uid: int) -> Iterator[str]:
    """What of the audit trail is not the daemon's alone to write, whose number that is; in words.

    Nobody else gets into the directory: somebody with root's rights did that.
    """
    for name in sorted(os.listdir(_AUDIT)) if os.path.isdir(_AUDIT) else ():
        path = os.path.join(_AUDIT, name)
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            continue  # the daemon throws away what is too old
        if not stat.S_ISREG(info.st_mode):
            yield f"{path} is no file"
        elif info.st_uid != uid:
            yield f"{path} belongs to uid {info.st_uid}"
        elif info.st_mode & 0o022:
            yield f"{path} can be written by others (mode {stat.S_IMODE(info.st_mode):04o})"
