"""What this host offers and what it lacks: tmux, private directories, room on the disk, systemd and cgroups. Pure."""

from __future__ import annotations

import re

from corral.domain.diagnosis import INFO, OK, PROBLEM, WARNING, Finding, counted
from corral.domain.diagnosis_cures import MakePrivate
from corral.domain.diagnosis_facts import Directory, Disk, Facts, Host
from corral.domain.states import LIVE
from corral.domain.terminals import TMUX

OLDEST_TMUX = "3.2a"
_VERSION = re.compile(r"(\d+)\.(\d+)([a-z]?)")
#: Less than this share, or this many bytes, is nearly full.
_LEAST_SHARE, _LEAST_BYTES = 0.05, 100_000_000
_WANTED_CONTROLLERS = ("cpu", "memory", "pids")
_BEST = "systemd"
_HELD = {
    "systemd": "held by systemd, each in a scope of its own",
    "cgroup": "held by cgroups of Corral's own",
    "process": "held by descent and by a marker in the environment",
}
_OTHERS_WRITE, _GROUP_WRITES, _STICKY = 0o002, 0o020, 0o1000


def tmux(facts: Facts) -> list[Finding]:
    """tmux is there, and not too old. Agents without a terminal do not need it."""
    host, agents = facts.host, facts.records.agents
    severity = PROBLEM if not agents or any(agent.terminal == TMUX for agent in agents) else WARNING
    if not host.tmux_version:
        message = f"tmux cannot be run as {host.tmux}" + (f": {host.tmux_trouble}" if host.tmux_trouble else "")
        return [_tmux(host, severity, message, "install tmux 3.2a or later, or set CORRAL_TMUX to where it is")]
    version, oldest = version_of(host.tmux_version), version_of(OLDEST_TMUX)
    assert oldest is not None
    if version is None or version >= oldest:
        return []  # a build without a number is newer than any release
    message = f"{host.tmux} is {host.tmux_version}, and Corral needs {OLDEST_TMUX} or later"
    return [_tmux(host, severity, message, "install a newer tmux, or set CORRAL_TMUX to where one is")]


def version_of(said: str) -> tuple[int, int, str] | None:
    """The version in what `tmux -V` says; None for a build that has none (`tmux master`)."""
    match = _VERSION.search(said)
    return (int(match[1]), int(match[2]), match[3]) if match else None


def directories(facts: Facts) -> list[Finding]:
    """Nobody else can put anything in the place of our sockets, or reach them."""
    return [finding for directory in facts.directories for finding in _directory(directory)]


def disk(facts: Facts) -> list[Finding]:
    """There is room for the store, for logs and for sockets."""
    return [finding for one in facts.disks for finding in _disk(one)]


def profiles(facts: Facts) -> list[Finding]:
    """The person's own profiles of coding agents can be read. One that cannot is left out, and harms nothing else."""
    return [
        Finding(check="profiles", severity=WARNING, subject=path, message=message, remedy=remedy, ours=True)
        for path, message, remedy in facts.bad_profiles
    ]


def linger(facts: Facts) -> list[Finding]:
    """The user's service manager stays when the last session of the user ends."""
    host = facts.host
    if not (host.user_manager or host.needed_manager) or host.linger is not False:
        return []
    up = bool(facts.records.agents or host.needed_manager)
    return [
        Finding(
            check="linger",
            severity=WARNING,
            subject=host.user,
            message=f"{host.user} has no linger: at the last logout systemd ends everything it holds for {host.user}"
            + (", the agents that are up included" if up else ""),
            remedy="sudo corral host setup turns it on" if host.needed_manager else "loginctl enable-linger",
            ours=up,
            details={"user": host.user},
        )
    ]


def user_bus(host: Host) -> list[Finding]:
    """systemd can be asked for scopes."""
    if host.needed_manager and not host.user_manager:
        return [
            Finding(
                check="user_bus",
                severity=PROBLEM,
                subject=host.user,
                message=f"the service manager of {host.user} does not run: neither can the keeper and the agents",
                remedy=f"sudo systemctl start {host.needed_manager}",
                ours=True,
            )
        ]
    if host.user_bus:
        return []
    if not host.systemd:
        return [
            Finding(
                check="user_bus",
                severity=INFO,
                subject=host.user,
                message="this host does not run systemd: agents are not held by scopes, but by the next best means",
                remedy="nothing to do; corral ps shows how each agent is contained",
            )
        ]
    return [
        Finding(
            check="user_bus",
            severity=WARNING,
            subject=host.user,
            message=f"there is no user bus of {host.user}: agents are not held by scopes, but by the next best means",
            remedy=f"log in as {host.user} (not through su), or loginctl enable-linger and set XDG_RUNTIME_DIR",
        )
    ]


def cgroups(host: Host) -> list[Finding]:
    """Processes can be held and counted by cgroup v2."""
    if host.cgroups == "v2":
        return []
    what = {
        "v1": "this host uses cgroup v1",
        "hybrid": "this host uses cgroup v1 with v2 beside it",
        "none": "there is no cgroup file system here",
    }[host.cgroups]
    return [
        Finding(
            check="cgroups",
            severity=WARNING,
            subject=host.cgroups,
            message=f"{what}: limits on agents, and ending an agent as one group, need cgroup v2 alone",
            remedy="boot with systemd.unified_cgroup_hierarchy=1",
        )
    ]


def controllers(host: Host) -> list[Finding]:
    """Limits on CPU, memory and the number of processes can be set."""
    if host.controllers is None or host.cgroups != "v2":
        return []
    missing = [name for name in _WANTED_CONTROLLERS if name not in host.controllers]
    if not missing:
        return []
    return [
        Finding(
            check="controllers",
            severity=WARNING,
            subject=" ".join(missing),
            message=f"no limits can be set on {', '.join(missing)}: {host.delegated or '/'} does not have them",
            remedy=f"systemctl edit user@.service: [Service] Delegate={' '.join(_WANTED_CONTROLLERS)}",
            details={"path": host.delegated, "missing": missing},
        )
    ]


def containment(facts: Facts) -> list[Finding]:
    """What holds the agents that are up, and why nothing better does; of a host without any, what would hold them."""
    levels: dict[tuple[str, str], list[str]] = {}
    for agent in facts.records.agents:
        if agent.state in LIVE and agent.containment not in ("", "none"):
            why = "" if agent.containment == _BEST else agent.containment_why or _why_not_systemd(facts.host)
            levels.setdefault((agent.containment, why), []).append(f"{agent.team}/{agent.agent}")
    if not levels and facts.host.systemd and facts.host.user_bus and facts.host.cgroups == "v2":
        message = (
            "an agent that is started here is held by systemd, in a scope of its own: the best level that there is"
        )
        return [Finding(check="containment", severity=OK, subject=_BEST, message=message, details={"level": _BEST})]
    return [
        Finding(
            check="containment",
            severity=INFO if why else OK,
            subject=level,
            message=f"{counted(len(agents), 'agent')} ({', '.join(agents[:5])}{', …' if len(agents) > 5 else ''}) "
            f"{'is' if len(agents) == 1 else 'are'} {_HELD.get(level, f'held at level {level}')}"
            + (f", and not by systemd: {why}" if why else ", the best level that there is"),
            remedy="once that is changed, corral restart moves an agent to the better level" if why else "",
            ours=True,
            details={"level": level, "why": why, "agents": agents},
        )
        for (level, why), agents in levels.items()
    ]


def _why_not_systemd(host: Host) -> str:
    """For an agent of which it was not written down."""
    if not host.systemd:
        return "this host does not run systemd"
    if not host.user_bus:
        return f"there is no user bus of {host.user}"
    return "their team does not want it (systemd in [containment]), or it was not there when they started"


def _tmux(host: Host, severity: str, message: str, remedy: str) -> Finding:
    details = {"path": host.tmux, "version": host.tmux_version}
    return Finding(check="tmux", severity=severity, subject=host.tmux, message=message, remedy=remedy, details=details)


def _directory(directory: Directory) -> list[Finding]:
    mode = directory.mode
    group_writes = bool(mode & _GROUP_WRITES) and not directory.private_group
    cure = None
    if not directory.trusted:
        message = f"{directory.path} belongs to {directory.owner}, who could put anything in the place of our files"
        remedy = "set CORRAL_HOME and CORRAL_RUNTIME_DIR to directories of your own"
    elif directory.own and mode & 0o077:
        message = f"{directory.path} is open to others (mode {mode & 0o7777:04o}): it has our sockets or our state"
        remedy = f"corral doctor --fix closes it; so does chmod 0700 {directory.path}"
        cure = MakePrivate(directory.path)
    elif not directory.own and (mode & _OTHERS_WRITE or group_writes) and not mode & _STICKY:
        message = f"others can write to {directory.path} (mode {mode & 0o7777:04o}), and so replace what is below it"
        remedy = f"chmod go-w {directory.path}, or set CORRAL_HOME and CORRAL_RUNTIME_DIR elsewhere"
    else:
        return []
    return [
        Finding(
            check="directories",
            severity=PROBLEM,
            subject=directory.path,
            message=message,
            remedy=remedy,
            ours=directory.own,
            cure=cure,
            details={"path": directory.path, "mode": f"{mode & 0o7777:04o}", "owner": directory.owner},
        )
    ]


def _disk(one: Disk) -> list[Finding]:
    found = []
    where = " and ".join(one.paths)
    if one.size and (one.free < one.size * _LEAST_SHARE or one.free < _LEAST_BYTES):
        found.append(f"the disk of {where} is nearly full: {_amount(one.free)} of {_amount(one.size)} are free")
    if one.inodes and one.free_inodes < one.inodes * _LEAST_SHARE:
        found.append(f"the disk of {where} can hold only {one.free_inodes} more files of {one.inodes}")
    return [
        Finding(
            check="disk",
            severity=PROBLEM,
            subject=one.paths[0],
            message=message,
            remedy="make room there: a full disk stops the journal, and then every command that changes something",
            details={"path": one.paths[0], "free": one.free, "size": one.size, "free_inodes": one.free_inodes},
        )
        for message in found
    ]


def _amount(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
