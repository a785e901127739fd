"""What an agent finds in its environment.

It is the environment of the person who said `up`, less what belongs to that person's terminal, plus what
`corral.toml` declares, plus its ports and the agent's identity. The identity is also the marker by which processes are
known as ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from corral.domain.enforcement import DENY

#: Belongs to the terminal, the shell or the service that `up` was typed in, and would mislead a program in another one.
_OF_THE_CALLERS_TERMINAL = frozenset(
    """TERM TERM_PROGRAM TERM_PROGRAM_VERSION TERM_SESSION_ID COLUMNS LINES WINDOWID WINDOW STY TMUX TMUX_PANE
    TMUX_TMPDIR SHLVL OLDPWD PWD _ NOTIFY_SOCKET INVOCATION_ID JOURNAL_STREAM LISTEN_FDS LISTEN_PID LISTEN_FDNAMES
    WATCHDOG_PID WATCHDOG_USEC SYSTEMD_EXEC_PID MANAGERPID SSH_TTY SSH_CLIENT SSH_CONNECTION
    SHELLOPTS BASHOPTS PPID CLAUDECODE CLAUDE_CODE_ENTRYPOINT""".split()
)

#: What says nothing about whose it is.
_OF_EVERYBODY = frozenset("PATH LANG LANGUAGE TZ".split())

#: Names that a team may not set: they say who the agent is.
RESERVED_PREFIX = "CORRAL_"


def is_exportable(name: str) -> bool:
    """True if a POSIX shell can export it; bash's exported functions (`BASH_FUNC_x%%`) cannot be."""
    return name.isascii() and name.isidentifier()


def ambient_environment(callers: Mapping[str, str]) -> dict[str, str]:
    """What of the environment of the person who said `up` every agent has: all but what is of that very terminal."""
    return {
        name: value
        for name, value in callers.items()
        if is_exportable(name) and name not in _OF_THE_CALLERS_TERMINAL and not name.startswith(RESERVED_PREFIX)
    }


def environment_of_another(callers: Mapping[str, str], user: str, uid: int, home: str, shell: str) -> dict[str, str]:
    """What an agent has that is run by another user than the one who said `up`: nothing of that person's but what
    says where programs are and how to speak. Keys, tokens and sockets are not the other's business.
    """
    kept = {
        name: value
        for name, value in callers.items()
        if name in _OF_EVERYBODY or (name.startswith("LC_") and is_exportable(name))
    }
    return {
        **kept,
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": shell or "/bin/sh",
        "XDG_RUNTIME_DIR": f"/run/user/{uid}",
    }


def agent_environment(
    ambient: Mapping[str, str],
    declared: Mapping[str, str],
    *,
    instance: str,
    home: str,
    runtime: str,
    team: str,
    agent: str,
    ports: Mapping[str, str] = MappingProxyType({}),
    unreachable: str = DENY,
    program: str | None = None,
) -> dict[str, str]:
    """The whole environment of an agent, except for what changes with every run.

    `ambient` is what `ambient_environment` left, which is the same for all agents of an `up`.
    `unreachable` is what its hooks say to a write while the daemon cannot be reached; without a word, that is `DENY`.
    `program` is the path of `corral`, for what an agent's hooks run: its PATH may not have it.
    `ports` are variables that say which ports are its own. A `PORT` of the person who says `up` is not the agent's; one
    that is declared is what the person wants.
    """
    return {
        **ambient,
        **ports,
        **declared,
        "CORRAL_INSTANCE": instance,
        "CORRAL_HOME": home,
        "CORRAL_RUNTIME_DIR": runtime,
        "CORRAL_TEAM": team,
        "CORRAL_AGENT": agent,
        **({UNREACHABLE_VARIABLE: unreachable} if unreachable != DENY else {}),
        **({PROGRAM_VARIABLE: program} if program else {}),
    }


def team_markers(instance: str, team: str) -> list[bytes]:
    """What every process of a team has in its environment, as whole `NAME=value` entries."""
    return [b"CORRAL_INSTANCE=" + instance.encode(), b"CORRAL_TEAM=" + team.encode()]


#: Where `corral` is.
PROGRAM_VARIABLE = "CORRAL_PROGRAM"
#: Says what hooks do that cannot reach the daemon, where that is not to refuse writes.
UNREACHABLE_VARIABLE = "CORRAL_UNREACHABLE"
#: Changes with every start of an agent: the marker that ties a process to one run.
RUN_VARIABLE = "CORRAL_RUN"
#: Names the command that a process was started for, if it was started through Corral: the marker that ties it to one.
PROCESS_VARIABLE = "CORRAL_PROCESS"
#: Set for the host of a team's processes, and for nothing that runs under it.
HOST_VARIABLE = "CORRAL_HOST"
#: The agent that a process works for.
AGENT_VARIABLE = "CORRAL_AGENT"
