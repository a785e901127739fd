"""What the kernel is told of an agent: which directories, ports and sockets it may use, and all else is refused.

The kernel knows directories with all that is below them, and files; not patterns. So what it allows is at least what is
declared, and what an agent cannot run without. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corral.domain.access import ANY_ACCESS, NO_NETWORK, Access, is_elsewhere, place_of, places
from corral.domain.bindings import ANY_PORT, OWN_PORTS, listed
from corral.domain.path_patterns import parse

#: Of the system, to be read and run, if it is there.
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap"),
    *("/proc", "/sys", "/dev"),
    *("/run/systemd", "/run/nscd", "/run/resolvconf", "/run/NetworkManager", "/run/current-system"),
)
#: Devices that are there to be written to.
_DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"),
    *("/dev/pts", "/dev/shm"),  # noqa: S108 - it is allowed, and not used # nosec B108
)
#: Of a home, to be read: what shells and git read when they start.
_STARTING = (
    *(".profile", ".bash_profile", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".inputrc", ".terminfo"),
    *(".gitconfig", ".config/git"),
)
#: What a commit in a worktree changes in git's directory of the whole repository: no configuration, and no hooks.
_SHARED_GIT = ("objects", "refs", "logs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Confines:
    """What an agent is to be kept to, as far as whoever starts it knows; a wire format as well."""

    access: Access = ANY_ACCESS
    #: Where git keeps the team's repository; empty if its workspace is not of that.
    repository: str = ""
    #: Its workspace is a worktree of that, which never has all of it.
    linked: bool = False
    #: Where its program keeps what it knows: `~/…`, `$VARIABLE/…` or a whole path; with a slash at the end to be made.
    state: tuple[str, ...] = ()


NO_CONFINES = Confines()


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """What is true of the host, the workspace and the run."""

    workspace: str
    #: The environment of the agent.
    environment: Mapping[str, str]
    #: A directory of the run alone.
    own: str
    #: The ports of its block, as `20000-20009`.
    ports: str = ""
    #: git's directory of its workspace, and the one of the whole repository, which may be the same; empty for none.
    git: str = ""
    common: str = ""
    #: Corral itself, and what its program is made of: to be read and run.
    programs: tuple[str, ...] = ()
    #: The file by which it proves to the daemon who it is; empty if it has none.
    credential: str = ""


def is_confined(access: Access, bind: str) -> bool:
    """True if the kernel has to be told anything."""
    return bind != ANY_PORT or access.kernel_writes or access.read is not None or access.network == NO_NETWORK


def rules(confines: Confines, bind: str, ground: Ground) -> dict[str, object]:
    """What `adapters.landlock.confine` is told.

    `below` is in the workspace, on ways without links; `declared` has to be there; `besides` is allowed if it is, and
    made if it has a slash at its end. Each has a path and what is allowed: `r`, `w`, `rw`, or `names` of what is there.
    `temporary` is for temporary files, and for caches if `cache` is not there: nothing is left in a home by that.
    """
    access = confines.access
    home = ground.environment.get("HOME", "")
    write = access.write if access.kernel_writes else None
    below = [("/".join(place.parts), "rw") for place in places(write or ())]
    declared = [(expanded(text, home), "rw") for text in write or () if is_elsewhere(text)]
    for text in access.read or ():
        if is_elsewhere(text):
            declared.append((expanded(text, home), "r"))
        else:
            pattern = parse(text)
            below.append(("/".join(pattern.beginning if pattern.is_plain else place_of(pattern).parts), "r"))
    if access.read is not None:
        # Names alone: git looks at all of a working tree.
        below += [("", "names"), (".git", "r")]
    return {
        "workspace": ground.workspace,
        "write": write is not None,
        "read": access.read is not None,
        "below": below,
        "declared": declared,
        "besides": _besides(confines, ground, home),
        "temporary": f"{ground.own}/temporary",
        "cache": _cache(ground),
        "ports": _ports(bind, ground.ports),
        "network": access.network != NO_NETWORK,
    }


def expanded(text: str, home: str) -> str:
    """`~` in the place of a home, spelled out; as it is, and so nowhere, if there is no home."""
    return home + text[1:] if home and text.startswith("~") else text


def state_of(state: tuple[str, ...], environment: Mapping[str, str]) -> list[str]:
    """The paths that these are with this environment; none for a variable that is not set."""
    found = []
    for text in state:
        if text.startswith("$"):
            name, slash, rest = text[1:].partition("/")
            text = environment[name] + slash + rest if environment.get(name) else ""
        path = expanded(text, environment.get("HOME", ""))
        if path.startswith("/"):
            found.append(path)
    return found


def _besides(confines: Confines, ground: Ground, home: str) -> list[tuple[str, str]]:
    found = [(f"{ground.own}/", "rw")]
    found += [(path, "rw") for path in (*state_of(confines.state, ground.environment), _cache(ground)) if path]
    found += [(path, "rw") for path in _DEVICES]
    if ground.git:
        found.append((ground.git, "rw"))
        if ground.common != ground.git:
            found += [(f"{ground.common}/{name}", "rw") for name in _SHARED_GIT]
            found.append((ground.common, "r"))
    if confines.access.read is not None:
        found += [(path, "r") for path in _SYSTEM]
        found += [(path, "r") for path in ground.programs]
        if ground.credential:
            found.append((ground.credential, "r"))
        found += [(f"{home}/{name}", "r") for name in _STARTING if home]
    return list(dict.fromkeys(found))


def _cache(ground: Ground) -> str:
    """Where programs keep what they can do without; empty if nobody says."""
    home = ground.environment.get("HOME", "")
    return ground.environment.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")


def _ports(bind: str, block: str) -> list[tuple[int, int]] | None:
    if bind == ANY_PORT:
        return None
    if bind == OWN_PORTS:
        first, _, last = block.partition("-")
        return [(int(first), int(last))]
    return [(port, port) for port in listed(bind)]
