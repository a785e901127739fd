"""Running git: no prompt, no pager, no locale, a time limit, and its own words when it fails."""

from __future__ import annotations

import asyncio
import os
import subprocess

from corral.domain.errors import CorralError, UnavailableError

_SECONDS = 300.0


class GitError(CorralError):
    """git refused. The message is git's own."""

    code = "git"


async def git(directory: str, *arguments: str, seconds: float = _SECONDS) -> str:
    """The output of `git -C directory …`; raises GitError with what git said."""
    argv = ["git", "-C", directory, *arguments]
    try:
        done = await asyncio.to_thread(
            subprocess.run,
            argv,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=_environment(),
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError as error:
        raise UnavailableError("git is not installed, or not on the keeper's PATH", "apt-get install git") from error
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(
            f"git {arguments[0]} in {directory} did not end within {seconds:.0f} s", "is its disk or a hook hanging?"
        ) from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise GitError(f"git {arguments[0]} in {directory}: {said.removeprefix('fatal: ')}")
    return done.stdout.decode("utf-8", "surrogateescape")


def _environment() -> dict[str, str]:
    # GIT_DIR and its kin would point git at another repository than the one named.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
