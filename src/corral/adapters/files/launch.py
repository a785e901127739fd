"""Launch files: how a program gets its argv and its environment without either being seen.

A run is started as `/bin/sh FILE`. The file is 0600 in a 0700 directory, reads the agent's environment from another
such file, and becomes the program by `exec`. So nothing is in an argv or in tmux's environment, no length limit or
quoting of tmux applies, and a restart finds the environment again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence

from corral.domain.environment import RUN_VARIABLE
from corral.domain.errors import CorralError


class LaunchFiles:
    """The launch files of one team, below `directory`."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def write(
        self,
        *,
        agent: str,
        run: str,
        command: Sequence[str],
        shell: bool,
        working_directory: str,
        environment: Mapping[str, str] | None,
    ) -> str:
        """Write the files of a run and return the path to start. None as environment: the agent's last one."""
        if not os.path.isdir(self._directory):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
        environment_file = os.path.join(self._directory, f"{agent}.env")
        if environment is not None:
            lines = [f"export {name}={_quoted(value)}\n" for name, value in environment.items()]
            _write_private(environment_file, "".join(lines))
        elif not os.path.exists(environment_file):
            raise CorralError(
                f"the environment that {agent} was started with is gone", "corral up starts it with the present one"
            )
        program = ['"${SHELL:-/bin/sh}"', "-c", _quoted(command[0])] if shell else [_quoted(word) for word in command]
        path = os.path.join(self._directory, f"{agent}.{run}")
        _write_private(
            path,
            f"# {json.dumps([list(command), shell])}\n"
            f". {_quoted(environment_file)}\n"
            f"export {RUN_VARIABLE}={run}\n"
            f"cd {_quoted(working_directory)} || exit 126\n"
            f"exec {' '.join(program)}\n",
        )
        return path

    def command_of(self, agent: str, run: str) -> tuple[tuple[str, ...], bool] | None:
        """The command of a run that was prepared earlier, and whether it is for a shell; None if it is gone."""
        try:
            with open(os.path.join(self._directory, f"{agent}.{run}"), encoding="utf-8") as file:
                words, shell = json.loads(file.readline().removeprefix("# "))
        except (FileNotFoundError, ValueError):
            return None
        return tuple(words), shell

    def forget_run(self, agent: str, run: str) -> None:
        """Remove the launch file of a run that ended."""
        _remove(os.path.join(self._directory, f"{agent}.{run}"))

    def forget_agent(self, agent: str) -> None:
        """Remove everything of an agent."""
        _remove(os.path.join(self._directory, f"{agent}.env"))

    def forget_team(self) -> None:
        """Remove the whole directory."""
        if os.path.isdir(self._directory):
            shutil.rmtree(self._directory)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _write_private(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
