"""Running git: no prompt, no pager, no locale, a time limit, and one sentence with a remedy when it fails.

The repository's configuration is shared by all its worktrees, so an agent can write there what our git would run. It
runs as little of it as can be.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Collection, Sequence
from itertools import takewhile

from corral.domain.errors import CorralError, UnavailableError

#: For what looks or removes: `down` must come to an end, whatever is the matter with a repository.
_SECONDS = 60.0
#: For what makes something: a checkout may be large, and a person's hooks may take their time.
_MAKING_SECONDS = 300.0
#: Until one that was told to end has removed its locks, and until one that was killed is gone.
_ENDING_SECONDS = 2.0
_KILLED_SECONDS = 2.0
#: So many files that a complaint is about are named.
_MOST_NAMED = 3

#: Programs that git would run by itself while it looks: the file system monitor, and hooks.
_NO_MONITOR = ("-c", "core.fsmonitor=false")
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
#: What tells whose a process is. What a hook leaves running is of no agent.
_MARKERS = ("CORRAL_AGENT", "CORRAL_TEAM", "CORRAL_RUN", "CORRAL_INSTANCE", "CORRAL_CREDENTIAL_FILE")

#: Words in what git says, and what helps then; the first that fits counts.
_REMEDIES = (
    ("untracked working tree files would be overwritten", "move them away, or remove them"),
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


def git(directory: str, *arguments: str, feed: bytes = b"", making: bool = False, seconds: float | None = None) -> str:
    """The output of `git -C directory …`, with `feed` on its standard input; raises GitError with what git said.

    What is `making` something runs the person's hooks, and may take longer.
    """
    return answer(directory, *arguments, feed=feed, making=making, seconds=seconds)[1]


def answer(
    directory: str,
    *arguments: str,
    feed: bytes = b"",
    making: bool = False,
    seconds: float | None = None,
    accept: Collection[int] = (0,),
) -> tuple[int, str]:
    """As `git`, with the exit code before the output: for questions that git answers by one of those accepted."""
    argv = command_line(directory, *arguments, making=making)
    limit = seconds if seconds is not None else _MAKING_SECONDS if making else _SECONDS
    try:
        code, output, complaint = _run(argv, feed, limit)
    except FileNotFoundError as error:
        raise UnavailableError("git is not installed, or not on PATH", "apt-get install git") from error
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(
            f"git {_verb(arguments)} in {directory} did not end within {limit:.0f} s",
            "is its disk hanging, or a hook or filter of the repository?",
        ) from error
    if code not in accept:
        raise refusal(directory, arguments, code, complaint)
    return code, output.decode("utf-8", "surrogateescape")


def command_line(directory: str, *arguments: str, making: bool = False) -> list[str]:
    """The argv of a git that runs as little of the repository's own as can be."""
    return ["git", "-C", directory, *_NO_MONITOR, *(() if making else _NO_HOOKS), *arguments]


def refusal(directory: str, arguments: Sequence[str], code: int, complaint: bytes) -> GitError:
    """What a git that ended with this code had to say."""
    said = complaint.decode("utf-8", "replace")
    what = in_one_line(said) or f"exit code {code}"
    return GitError(f"git {_verb(arguments)} in {directory}: {what}", remedy(said, directory))


def _verb(arguments: Sequence[str]) -> str:
    """What git was asked to do, behind settings for this one time (`-c NAME=VALUE`)."""
    at = 0
    while arguments[at] == "-c":
        at += 2
    return arguments[at]


def in_one_line(said: str) -> str:
    """The complaint in what git said: its errors without the progress before them and the hints after them. Pure."""
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    labels = ("error: ", "fatal: ")
    complaints: list[str] = []
    for at, line in enumerate(lines):
        if line.startswith(labels):
            complaint = line.partition(": ")[2].strip()
            complaints.append(complaint + _named(lines[at + 1 :]) if complaint.endswith(":") else complaint)
    # The first is the cause and the last what came of it; there may be one for each file in between. A hook speaks
    # without a label, and what it said last is mostly why.
    return "; ".join(dict.fromkeys([complaints[0], complaints[-1]])) if complaints else "".join(lines[-1:]).strip()


def _named(lines: Sequence[str]) -> str:
    """The files that a complaint is about, which git lists below it, a line each behind a tab."""
    names = [line.strip() for line in takewhile(lambda line: line.startswith("\t"), lines)]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return " " + ", ".join(names[:_MOST_NAMED]) + more if names else ""


def remedy(said: str, directory: str) -> str:
    """What helps against a complaint of git's. Pure."""
    for words, helps in _REMEDIES:
        if words in said:
            return helps.format(directory=shlex.quote(directory))
    return _OTHERWISE.format(directory=shlex.quote(directory))


def _run(argv: list[str], feed: bytes, seconds: float) -> tuple[int, bytes, bytes]:
    """Run it to its end; exit code, output and complaints. When time is up, what it started ends with it."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        # A group of its own: a hook or filter that hangs is git's child, and would stay behind it.
        start_new_session=True,
    )
    try:
        output, complaint = process.communicate(feed, timeout=seconds)
    except BaseException:
        # A git that is told to end removes its locks; one that is killed leaves them.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # One that waits for a dead disk cannot be killed; it is not waited for in turn.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_KILLED_SECONDS)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        raise
    return process.returncode, output, complaint


def environment() -> dict[str, str]:
    """What a git of ours finds: that of this process, without what would have it work elsewhere."""
    # GIT_DIR and its kin would point git at another repository than the one named.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name not in _MARKERS}
    return {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
