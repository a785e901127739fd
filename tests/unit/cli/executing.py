"""`corral exec` in a process of its own."""

import subprocess

from tests.support.instance import Instance


def begun(real: Instance, *words: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """`corral exec` in a process of its own."""
    return subprocess.Popen(
        real.argv("exec", *words), cwd=real.directory, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err.decode()
