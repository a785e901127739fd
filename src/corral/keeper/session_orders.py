"""What a launch takes before its session can be started: its workspace, and its launch file."""

from __future__ import annotations

import os

from corral.domain.errors import CorralError
from corral.domain.terminals import TMUX
from corral.keeper.confining import through
from corral.keeper.tools import HostTools
from corral.ports.recording import Launches
from corral.ports.runs import Launch
from corral.ports.runtime import SessionOrder


def session_order(tools: HostTools, launches: Launches, launch: Launch, note: str, *, gated: bool) -> SessionOrder:
    """Write the launch file, and say how the session is to be started.

    Raises `CorralError` if the workspace is gone, and `OSError` if the file cannot be written.
    """
    if not os.path.isdir(launch.directory):
        raise CorralError(f"its workspace {launch.directory} is not there: corral up makes it again")
    # A restart by the supervisor goes on with the environment of then.
    environment = launch.environment or launches.environment_of(launch.agent) or {}
    path = launches.write(
        agent=launch.agent,
        run=launch.run,
        command=launch.command,
        shell=launch.shell,
        working_directory=launch.directory,
        environment=launch.environment,
        gated=gated,
        note=note,
        terminal=launch.terminal == TMUX,
        credential=launch.credential,
        through=through(
            tools,
            launch.confines,
            launch.bind,
            workspace=launch.directory,
            environment=environment,
            own=launches.own_directory(launch.run),
            credential=launches.credential_file(launch.agent),
            command=() if launch.shell else launch.command,
        ),
    )
    return SessionOrder(agent=launch.agent, run=launch.run, launch_file=path, stdin=launch.stdin)
