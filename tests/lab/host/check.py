"""Whether this host can run the lab. Only looks, and tries what leaves nothing."""

import os
import shutil
import subprocess
import sys

from tests.lab.host import cgroups, tree
from tests.lab.host.errors import CannotRunError

_TRY_TO_MOUNT = """
mount --types tmpfs tmpfs /mnt && mkdir /mnt/l /mnt/u /mnt/w /mnt/m &&
mount --types overlay --options lowerdir=/mnt/l,upperdir=/mnt/u,workdir=/mnt/w lab /mnt/m
"""


def check() -> None:
    """Raises `CannotRunError` with the reason, if there is one."""
    if sys.platform != "linux":
        raise CannotRunError("this is not Linux")
    if os.geteuid() != 0:
        raise CannotRunError("not root, and to boot a machine takes root")
    for tool in ("unshare", "setpriv", "nsenter", "mount", "tar", "git"):
        if not shutil.which(tool):
            raise CannotRunError(f"{tool} is missing")
    missing = tree.missing_tools()
    if missing and not shutil.which("apt-get"):
        raise CannotRunError(f"{' and '.join(missing)} missing, and no apt-get to install them with")
    cgroups.remove(cgroups.make())
    tried = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", _TRY_TO_MOUNT],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if tried.returncode:
        raise CannotRunError(f"cannot mount an overlay: {tried.stderr.strip()}")
