"""The texts of the files that a shared server has. Pure; where they go and whose they are is in `host_layout`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from corral.domain.unit_text import escaped, quoted, quoted_path

_WRITTEN = "# Written by `corral host setup`, which also writes it again. `corral host remove` removes it."

#: What the helper needs of root's rights, and sudo on the way to it. Nothing below the daemon can ever have more.
_CAPABILITIES = "CAP_SETUID CAP_SETGID CAP_CHOWN CAP_FOWNER CAP_DAC_READ_SEARCH CAP_KILL CAP_AUDIT_WRITE"


def settings(workspaces: str) -> str:
    """What root sets and the helper reads."""
    return json.dumps({"workspaces": workspaces}) + "\n"


def tmpfiles(runtime: str, keepers: str, group: str) -> str:
    """What has systemd make the directories below /run at every boot."""
    return f"{_WRITTEN}\nd {runtime} 1771 root {group} -\nd {keepers} 0711 root root -\n"


def sudoers(user: str, helper: str) -> str:
    """The right of the daemon's user to run the helper as root: that file, without a single argument."""
    return "\n".join(
        [
            _WRITTEN,
            "# The helper takes no arguments and checks its request itself. Nothing of the caller's environment comes",
            "# along, no descriptor but the first three, and no terminal.",
            f"Defaults!{helper} env_reset, !env_keep, !env_check, !setenv, secure_path=/usr/bin\\:/bin, closefrom=3",
            f"Defaults!{helper} umask=0077, umask_override, !use_pty, !requiretty, !pam_session",
            f'{user} ALL=(root) NOPASSWD: NOSETENV: {helper} ""',
            "",
        ]
    )


def daemon_unit(
    python: str, *, user: str, members: str, home: str, runtime: str, writable: Sequence[str], checkpoints: str = ""
) -> str:
    """The daemon's unit, for the manager of the system. `checkpoints` is where those of its audit trail are to go; it
    may be a place that is not always there.
    """
    shipped = (quoted_path(f"-{checkpoints}"),) if checkpoints else ()
    command = " ".join(quoted(word) for word in (python, "-I", "-m", "corral", "daemon", "run", "--host", members))
    return "\n".join(
        [
            _WRITTEN,
            "# Settings of your own: systemctl edit corral.service",
            "[Unit]",
            "Description=Corral: the daemon of this host",
            "Wants=systemd-logind.service",
            "After=systemd-logind.service systemd-tmpfiles-setup.service network.target",
            "",
            "[Service]",
            "Type=notify",
            f"User={user}",
            f"Group={user}",
            "# So that its socket can belong to the members' group.",
            f"SupplementaryGroups={members}",
            f'Environment="CORRAL_HOME={escaped(home)}" "CORRAL_RUNTIME_DIR={escaped(runtime)}"',
            f"WorkingDirectory={home}",
            f"ExecStart={command}",
            "Restart=on-failure",
            "RestartSec=2",
            "TimeoutStartSec=60",
            "TimeoutStopSec=30",
            "UMask=0077",
            "",
            "# What it may see and write. The helper runs in here too: what is closed to the daemon is closed to it.",
            "ProtectSystem=strict",
            f"ReadWritePaths={' '.join((home, runtime, *writable, *shipped))}",
            "InaccessiblePaths=-/home -/root",
            "PrivateTmp=yes",
            "PrivateMounts=yes",
            "ProtectControlGroups=yes",
            "DevicePolicy=closed",
            "KeyringMode=private",
            "RemoveIPC=yes",
            f"CapabilityBoundingSet={_CAPABILITIES}",
            "AmbientCapabilities=",
            "LimitCORE=0",
            "TasksMax=512",
            "",
            "# Not here: NoNewPrivileges, and what implies it for a service that is not root's (system call filters,",
            "# RestrictAddressFamilies, RestrictNamespaces, RestrictSUIDSGID, RestrictRealtime, LockPersonality,",
            "# MemoryDenyWriteExecute, PrivateDevices, ProtectClock, ProtectHostname, ProtectKernel*). With it sudo",
            "# could not become root, and the helper is reached by sudo. Nor ProtectProc: by /proc/PID/cgroup the",
            "# daemon tells which agent speaks to it. Nor ProtectHome: it hides /run/user, which the helper needs.",
            "",
            "[Install]",
            "WantedBy=multi-user.target",
            "",
        ]
    )


def keeper_unit(python: str, *, user: str, runtime: str, keepers: str, home: str, workspaces: str) -> str:
    """The unit of a user's keeper, for the managers of users. Nobody enables it: the daemon has it started.

    Terminals and agents are no part of it: they outlive a keeper that stops.
    """
    # %U is the number of the user whose manager reads this.
    words = (
        *("-I", "-m", "corral", "keeper", "run", "--socket", f"{keepers}/%U/keeper.sock", "--daemon", user),
        *("--workspaces", f"{workspaces}/%u"),
    )
    return "\n".join(
        [
            _WRITTEN,
            "[Unit]",
            "Description=Corral: the keeper of %u on this host",
            "",
            "[Service]",
            "Type=notify",
            "# Beside an instance of the user's own, not in it.",
            f'Environment="CORRAL_HOME=%h/{home}" "CORRAL_RUNTIME_DIR=%t/corral-host"',
            f"EnvironmentFile={runtime}/keeper.env",
            f"ExecStart={' '.join((quoted(python), *words))}",
            "KillMode=process",
            "Restart=on-failure",
            "RestartSec=2",
            "TimeoutStartSec=30",
            "UMask=0077",
            "LimitCORE=0",
            "",
        ]
    )


def keeper_order_unit(verb: str, keeper: str) -> str:
    """A unit, for the manager of the system, that has a user's manager start or stop the keeper; its instances are
    users by number.
    """
    return "\n".join(
        [
            _WRITTEN,
            "[Unit]",
            f"Description=Corral: {verb} the keeper of user %i",
            "CollectMode=inactive-or-failed",
            "",
            "[Service]",
            "Type=oneshot",
            "# A process of the user's, who can make anything of it: so it is among theirs, not in the daemon's unit.",
            "User=%i",
            "Slice=user-%i.slice",
            "Environment=XDG_RUNTIME_DIR=/run/user/%i",
            f"ExecStart=/usr/bin/systemctl --user --no-ask-password {verb} {keeper}",
            "# Before whoever asked gives up.",
            "TimeoutStartSec=50",
            "TimeoutStopSec=5",
            "NoNewPrivileges=yes",
            "LimitCORE=0",
            "",
        ]
    )


def keeper_place_unit(keepers: str) -> str:
    """A unit, for the manager of the system, that mounts the place of a user's keeper; its instances are users by
    number. Who is given the place can write there, so it has a size of its own: /run is everybody's.
    """
    options = "mode=0700,size=256k,nr_inodes=64,nosuid,nodev,noexec"
    return "\n".join(
        [
            _WRITTEN,
            "[Unit]",
            "Description=Corral: the place for the socket of the keeper of user %i",
            f"ConditionPathIsMountPoint=!{keepers}/%i",
            "CollectMode=inactive-or-failed",
            "",
            "[Service]",
            "Type=oneshot",
            "# Without it there would be a slice of their own for all of these, which stays.",
            "Slice=system.slice",
            f"ExecStart=/usr/bin/mount -t tmpfs -o {options} corral-keeper {keepers}/%i",
            "",
        ]
    )
