"""Keeping a program to what its agent may touch."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corral.domain.access import KERNEL, NO_NETWORK
from corral.domain.bindings import ANY_PORT, OWN_PORTS
from corral.domain.confinement import Confines, Ground, is_confined, rules
from corral.domain.errors import CorralError, RefusedError
from corral.domain.port_blocks import BLOCK_VARIABLE
from corral.keeper.tools import HostTools

#: More than any honest `.git` file has.
_LONGEST_LINK = 8192


def through(
    tools: HostTools,
    confines: Confines,
    bind: str,
    *,
    workspace: str,
    environment: Mapping[str, str],
    own: str,
    credential: str,
    command: Sequence[str] = (),
) -> list[str]:
    """What a program is started through, so that it touches what its agent may; nothing if that is everything.

    `environment` is the agent's: it says which ports it has, and where its home is. `own` is a directory of its run,
    `credential` the file that it is known by. `command` is the argv of the program. Nothing is started that could not
    be kept to all of it, but for `write`, which others see to where the kernel cannot.
    """
    if not is_confined(confines.access, bind):
        return []
    confines = _possible(tools, confines, bind)
    if not is_confined(confines.access, bind):
        return []
    ports = environment.get(BLOCK_VARIABLE, "")
    if bind == OWN_PORTS and not ports:
        raise CorralError(f'bind = "{OWN_PORTS}", and it has no ports', "corral stop it, then corral up")
    of_files = confines.access.kernel_writes or confines.access.read is not None
    git, common = _git_directories(workspace, confines) if of_files else ("", "")
    ground = Ground(
        workspace=workspace,
        environment=environment,
        own=own,
        ports=ports,
        git=git,
        common=common,
        programs=(*tools.programs, *_programs(command, environment)),
        credential=credential,
    )
    return tools.confine(rules(confines, bind, ground))


def _possible(tools: HostTools, confines: Confines, bind: str) -> Confines:
    """What the kernel here can do of it. A refusal for what nobody else would see to."""
    access, obstacles = confines.access, tools.obstacles
    if bind != ANY_PORT and obstacles.ports:
        raise RefusedError(f'bind = "{bind}": {obstacles.ports}', "leave bind out, or use a newer kernel")
    if access.network == NO_NETWORK and obstacles.network:
        raise RefusedError(f'network = "{NO_NETWORK}": {obstacles.network}', "leave network out")
    if not obstacles.files:
        return confines
    if access.read is not None or access.enforce == KERNEL:
        raise RefusedError(f"access to files: {obstacles.files}", "leave read and enforce out, or use a newer kernel")
    return replace(confines, access=replace(access, write=None))


def _git_directories(workspace: str, confines: Confines) -> tuple[str, str]:
    """git's directory of a workspace, and of its whole repository; empty for one that has none.

    What stands in the workspace may be the agent's own doing: it must lead into the repository that is known, and there
    to what says of itself that it is of this workspace; never to all of it, if the workspace is a worktree.
    """
    path = os.path.join(workspace, ".git")
    try:
        found = os.lstat(path)
    except OSError:
        return "", ""
    common = os.path.realpath(confines.repository) if confines.repository else ""
    if stat.S_ISDIR(found.st_mode):
        git = os.path.realpath(path)
        if common in ("", git):
            return git, git
    elif stat.S_ISREG(found.st_mode) and common:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            said = file.read(_LONGEST_LINK).removeprefix("gitdir:").strip()
        git = os.path.realpath(os.path.join(workspace, said))
        is_linked = os.path.dirname(git) == os.path.join(common, "worktrees")
        if (is_linked and _is_of(git, workspace)) or (git == common and not confines.linked):
            return git, common
    elif not common:
        return "", ""  # nothing that is known to be its own
    raise CorralError(
        f"{path} leads out of the team's repository, so it cannot be said what its agent may touch there",
        f"look at it; git worktree repair {workspace} puts it right",
    )


def _is_of(git: str, workspace: str) -> bool:
    """True if this directory of a worktree says that it is the one of this workspace."""
    try:
        with open(os.path.join(git, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
            said = file.read(_LONGEST_LINK).strip()
    except OSError:
        return False
    return os.path.realpath(os.path.dirname(os.path.join(git, said))) == os.path.realpath(workspace)


def _programs(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Where programs are that it is meant to run: those on its PATH, and what its own is really made of."""
    path = environment.get("PATH", "")
    found = [directory for directory in path.split(":") if directory.startswith("/")]
    program = shutil.which(command[0], path=path) if command else None
    if program is not None:
        real = os.path.realpath(program)
        before, packages, _ = real.partition("/node_modules/")
        found.append(before + packages.rstrip("/") if packages else os.path.dirname(real))
    return found
