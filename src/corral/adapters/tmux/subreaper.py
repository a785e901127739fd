"""Becomes another program that orphans are handed to: `python -I -S subreaper.py PROGRAM ARGUMENT…`.

What an agent starts and abandons (a double fork) is given a new parent by the kernel: the nearest ancestor that asked
for it. Asked for by a team's tmux server, whatever descends from one of its panes stays below it, whoever died between.
The wish survives an exec and not a fork, and tmux has no option for it: so it is run from here.
"""

import ctypes
import os
import sys

_PR_SET_CHILD_SUBREAPER = 36

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - that is its purpose
    except OSError as error:
        sys.exit(f"{sys.argv[1]}: {error.strerror}")
