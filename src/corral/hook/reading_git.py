"""Running git to look at something, from within a hook: no prompt, no programs of the repository's, nothing imported.

`subprocess` alone would take longer to load than git takes to answer.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK = 1 << 16


class GitFailedError(Exception):
    """git ended with another exit code than 0; on standard error it said why."""


def output_of(*arguments: "str | bytes", feed: bytes = b"") -> bytes:
    """What `git ARGUMENTS` prints. `feed`, which must fit into a pipe, is its standard input."""
    reading, writing = os.pipe()
    feeding, fed = os.pipe()
    try:
        pid = _start(arguments, feeding, writing)
    except OSError:
        os.close(reading)
        os.close(fed)
        raise
    finally:
        os.close(feeding)
        os.close(writing)
    os.write(fed, feed)
    os.close(fed)
    pieces = []
    while data := os.read(reading, _CHUNK):
        pieces.append(data)
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise GitFailedError(f"git {os.fsdecode(arguments[0])} ended with {status}")
    return b"".join(pieces)


def git_path(name: str) -> str:
    """Where git has a file of its own, in the worktree's directory or in that of the repository."""
    return os.fsdecode(output_of("rev-parse", "--git-path", name)).rstrip("\n")


def _start(arguments: "Sequence[str | bytes]", feeding: int, writing: int) -> int:
    # The repository's configuration is for anybody to write: no program that it names is run while we look.
    argv = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments]
    return os.posix_spawnp(
        "git",
        argv,
        {**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        file_actions=[(os.POSIX_SPAWN_DUP2, feeding, 0), (os.POSIX_SPAWN_DUP2, writing, 1)],
    )
