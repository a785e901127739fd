"""Running git: no prompt, no pager, no locale, a time limit, and one sentence with a remedy when it fails."""

from __future__ import annotations

import os
import subprocess

from corral.domain.errors import CorralError, UnavailableError

_SECONDS = 300.0

#: Words in what git says, and what helps then; the first that fits counts.
_REMEDIES = (
    ("dubious ownership", "git config --global --add safe.directory {directory} tells git that you trust it"),
    ("No space left on device", "make room on the disk, then run it again"),
    ("unable to write", "make room on its disk, or make it writable for you, then run it again"),
    ("Read-only file system", "make its disk writable, then run it again"),
    ("Permission denied", "make it writable for you, then run it again"),
    (".lock'", "another git is at work there: run it again when that is done, or remove the lock file if none is"),
    ("could not lock", "another git is at work there: run it again when that is done"),
    ("missing but locked", "git -C {directory} worktree unlock PATH, then run it again"),
)
_OTHERWISE = (
    "put right what git names, then run it again; git -C {directory} fsck tells whether the repository is whole"
)


class GitError(CorralError):
    """git refused. The message has git's own words."""

    code = "git"


def git(directory: str, *arguments: str, feed: bytes = b"", seconds: float = _SECONDS) -> str:
    """The output of `git -C directory …`, with `feed` on its standard input; raises GitError with what git said."""
    argv = ["git", "-C", directory, *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, input=feed, env=_environment(), timeout=seconds, check=False)
    except FileNotFoundError as error:
        raise UnavailableError("git is not installed, or not on PATH", "apt-get install git") from error
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(
            f"git {arguments[0]} in {directory} did not end within {seconds:.0f} s", "is its disk or a hook hanging?"
        ) from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace")
        what = in_one_line(said) or f"exit code {done.returncode}"
        raise GitError(f"git {arguments[0]} in {directory}: {what}", remedy(said, directory))
    return done.stdout.decode("utf-8", "surrogateescape")


def in_one_line(said: str) -> str:
    """The complaint in what git said: its errors without the progress before them and the hints after them. Pure."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    labels = ("error: ", "fatal: ")
    complaints = [line.partition(": ")[2] for line in lines if line.startswith(labels)]
    # The first is the cause and the last what came of it; there may be one for each file in between. A hook speaks
    # without a label, and what it said last is mostly why.
    return "; ".join(dict.fromkeys([complaints[0], complaints[-1]])) if complaints else "".join(lines[-1:])


def remedy(said: str, directory: str) -> str:
    """What helps against a complaint of git's. Pure."""
    for words, helps in _REMEDIES:
        if words in said:
            return helps.format(directory=directory)
    return _OTHERWISE.format(directory=directory)


def _environment() -> dict[str, str]:
    # GIT_DIR and its kin would point git at another repository than the one named.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
