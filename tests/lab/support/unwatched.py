"""Scopes that stay active when they are empty, as the old leaks left them, on a systemd that no longer leaks.

systemd learns from inotify that a cgroup has become empty. A user has a quota of watches; once others have used it up
(a file watcher in a large tree is enough), a scope that is made then is not watched, and stays active for good. systemd
257 still does so.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from tests.lab.support.users import User

_HOLD = """
import ctypes, os, sys, tempfile
libc = ctypes.CDLL(None)
with open("/proc/sys/fs/inotify/max_user_watches") as file:
    wanted = int(file.read())
with tempfile.TemporaryDirectory() as directory:
    files = [os.path.join(directory, str(number)).encode() for number in range(wanted // 50 + 1)]
    for path in files:
        open(path, "w").close()
    full = False
    while not full:
        instance = libc.inotify_init1(os.O_CLOEXEC)
        assert instance >= 0, "there are too few instances for so many watches"
        full = any(libc.inotify_add_watch(instance, path, 2) < 0 for path in files)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def unwatched(user: User) -> Iterator[None]:
    """In this block the user has no watch left, so scopes that are made in it are never seen to become empty."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD],
        user=user.uid,
        group=user.account.pw_gid,
        extra_groups=[],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
    finally:
        holder.communicate(timeout=60)
