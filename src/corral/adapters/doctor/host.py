"""What this host offers, read from files; only tmux is asked, once, for its version."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess

from corral.domain.diagnosis_facts import Host

_CGROUPS = "/sys/fs/cgroup"
_VERSION_SECONDS = 5.0


def look(environ: dict[str, str], *, needs_manager: bool = False) -> Host:
    """The host as this user finds it; who is a member of a shared server needs a service manager that stays."""
    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid {uid}"
    tmux, version, trouble = _tmux(environ)
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{uid}"
    hierarchy = cgroup_version(_CGROUPS)
    delegated, controllers = _controllers(uid) if hierarchy == "v2" else ("", None)
    return Host(
        user=user,
        systemd=os.path.isdir("/run/systemd/system"),
        user_manager=_listens(os.path.join(runtime, "systemd", "private")),
        needed_manager=f"user@{uid}.service" if needs_manager else "",
        user_bus=_bus(environ, runtime),
        linger=_linger(user),
        cgroups=hierarchy,
        delegated=delegated,
        controllers=controllers,
        tmux=tmux,
        tmux_version=version,
        tmux_trouble=trouble,
    )


def cgroup_version(root: str) -> str:
    """Which hierarchy is mounted at `root`: "v2", "hybrid" (v1 with v2 beside it), "v1" or "none"."""
    if os.path.exists(os.path.join(root, "cgroup.controllers")):
        return "v2"
    if os.path.exists(os.path.join(root, "unified", "cgroup.controllers")):
        return "hybrid"
    try:
        return "v1" if os.listdir(root) else "none"
    except OSError:
        return "none"


def _tmux(environ: dict[str, str]) -> tuple[str, str, str]:
    """The command, its version, and why there is none."""
    name = environ.get("CORRAL_TMUX") or "tmux"
    found = shutil.which(name, path=environ.get("PATH"))
    if found is None:
        return name, "", "it is not installed, or not on PATH"
    try:
        done = subprocess.run([found, "-V"], capture_output=True, timeout=_VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return found, "", str(error)
    said = done.stdout.decode("utf-8", "replace").strip()
    return found, said, "" if said else f"exit code {done.returncode}"


def _bus(environ: dict[str, str], runtime: str) -> str:
    address = environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    named = address.removeprefix("unix:path=").partition(",")[0] if address.startswith("unix:path=") else ""
    for path in (os.path.join(runtime, "bus"), named):
        if path and _listens(path):
            return path
    return ""


def _listens(path: str) -> bool:
    """True if somebody does: a service manager that ended leaves its sockets behind."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as one:
        one.setblocking(False)
        try:
            one.connect(path)
        except BlockingIOError:
            return True  # its queue is full
        except OSError:
            return False
        return True


def _linger(user: str) -> bool | None:
    directory = "/var/lib/systemd/linger"
    if os.path.isdir(directory):
        return os.path.exists(os.path.join(directory, user))
    # It is made with the first that lingers.
    return False if os.path.isdir("/run/systemd/system") else None


def _controllers(uid: int) -> tuple[str, frozenset[str] | None]:
    """The cgroup that this user may set limits below, and the controllers in it."""
    managed = f"/user.slice/user-{uid}.slice/user@{uid}.service"
    for group in (managed, _own_cgroup()):
        try:
            with open(f"{_CGROUPS}{group}/cgroup.controllers", encoding="ascii") as file:
                return group, frozenset(file.read().split())
        except OSError:
            continue
    return "", None


def _own_cgroup() -> str:
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            if line.startswith("0::"):
                return line[3:].rstrip("\n")
    return "/"
