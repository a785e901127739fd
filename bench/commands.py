"""Running a command to its end and timing it: from the start of its process to its exit, nothing else."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence

#: What would change how the contestants run: settings of the bench's own Python, a person's tmux, another Corral.
_NOT_INHERITED = ("PYTHON", "CORRAL_", "TMUX", "VIRTUAL_ENV")


def environment(home: str) -> dict[str, str]:
    """The variables of every contestant: the person's own, without what would favour one of them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
    # A person's shell may take longer to start than everything that is measured here.
    return {**kept, "HOME": home, "SHELL": "/bin/sh"}


def timed(argv: Sequence[str], env: Mapping[str, str], cwd: str, codes: Collection[int] = (0,)) -> float:
    """The seconds that a command took. One that ends with another exit code ends the bench with what it said."""
    # Into a file: a pipe would be waited for, too, and a server that the command leaves behind may hold it open.
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        code = subprocess.run(
            argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False
        ).returncode
        took = time.perf_counter() - began
        if code not in codes:
            said.seek(0)
            words = said.read()[-2000:].decode("utf-8", "replace").strip()
            raise SystemExit(f"bench: {' '.join(argv)[:200]}: exit code {code}\n{words}")
    return took


def output(argv: Sequence[str], env: Mapping[str, str], cwd: str = "/") -> str:
    """What a command prints on stdout."""
    done = subprocess.run(
        argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True
    )
    return done.stdout
