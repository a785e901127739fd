"""What bash itself says about a command, without running it."""

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Reading:
    """How bash reads a text."""

    #: It is a command.
    valid: bool
    #: The command as bash would write it.
    canonical: bytes
    #: It has a here-document without an end.
    cut_short: bool


@functools.cache
def bash() -> str:
    """A bash that can print what it read (5.0 or later)."""
    found = shutil.which("bash")
    if not found:
        pytest.skip("there is no bash to compare with")
    if b"--pretty-print" not in subprocess.run([found, "--help"], capture_output=True, check=True).stdout:
        pytest.skip("this bash cannot print what it read, as 5.0 and later can")
    return found


@functools.lru_cache(maxsize=2)
def read(text: bytes) -> Reading:
    """Have bash read a text."""
    done = subprocess.run(
        [bash(), "--pretty-print", "/dev/stdin"],
        input=text,
        capture_output=True,
        env={"LC_ALL": "C.UTF-8"},
        timeout=60,
    )
    complaints = [line for line in done.stderr.split(b"\n") if line and b"delimited by end-of-file" not in line]
    valid = done.returncode == 0 and not complaints
    return Reading(valid, done.stdout, b"delimited by end-of-file" in done.stderr)


def ends_last_item(text: bytes, at: int) -> bool:
    """True if the `&` at `at` puts the last item of the outermost list into the background.

    bash is asked only how it reads other texts. A blank in its place makes another command, and `;` makes the same as
    a blank does: so it ends an item. `||` in its place makes no command: so nothing comes behind it. What is before it
    is a command: so nothing is open there, and the list is the outermost.
    """
    before, behind = text[:at], text[at + 1 :]
    whole, without = read(text), read(before + b" " + behind)
    return (
        whole.valid
        and without.valid
        and whole.canonical != without.canonical
        and read(before + b";" + behind) == without
        and not read(before + b"||" + behind).valid
        and read(before).valid
    )


def encoded(text: str) -> bytes:
    """A text as a program gets it."""
    return os.fsencode(text)
