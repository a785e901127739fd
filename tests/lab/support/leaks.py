"""The leak check of the lab: the machine is ours alone, so whatever a test adds to it and does not take away is a leak.

It covers what only a whole machine shows: everything that runs as one of its users, units of all managers, listening
sockets, files where they gather. Descendants of the test process, threads, descriptors and mounts are looked after by
the ordinary check, which runs besides.
"""

import glob
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field

from tests.lab.support.units import Unit, units
from tests.lab.support.users import EVERYONE, User, cgroup
from tests.support import processes
from tests.support.processes import Process

#: A session that closes, or the manager of somebody without linger, takes a moment to go.
GRACE_SECONDS = 8.0

_LISTENING_UNIX = "00010000"
_LISTENING_TCP = "0A"
_PLACES = ("/tmp/*", "/tmp/.[!.]*", "/run/user/*/*", "/run/user/*/systemd/transient/*", "/home/*/*", "/home/*/.[!.]*")


@dataclass
class State:
    """What there is on the machine now, as far as a test could have made it."""

    processes: dict[tuple[int, int], Process] = field(default_factory=lambda: _user_processes())
    units: dict[tuple[User | None, str], Unit] = field(default_factory=lambda: _made_units())
    sockets: set[str] = field(default_factory=lambda: _listening())
    files: set[str] = field(default_factory=lambda: {path for place in _PLACES for path in glob.glob(place)})


class LabLeaks:
    """Make one when a test begins; ask `leaks` when it is over, then `clear` so that the next one is not disturbed."""

    def __init__(self) -> None:
        self._before = State()

    def leaks(self, grace: float = GRACE_SECONDS) -> list[str]:
        """A line for everything that is left when the time of grace is over. Empty is what everybody wants."""
        until = time.monotonic() + grace
        while (left := self._left()) and time.monotonic() < until:
            time.sleep(0.1)
        return left

    def clear(self) -> None:
        """Take away what the test left: processes by pid and start time, units by name, files by path."""
        now = State()
        for identity, one in now.processes.items():
            if identity not in self._before.processes:
                processes.kill(one)
        for user, name in now.units.keys() - self._before.units.keys():
            for verb in ("stop", "reset-failed"):
                if user:
                    user.systemctl(verb, name, check=False)
                else:
                    subprocess.run(["systemctl", verb, name], capture_output=True, timeout=60, check=False)
        for path in now.files - self._before.files:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            elif os.path.lexists(path):
                os.unlink(path)

    def _left(self) -> list[str]:
        now = State()
        return [
            *(one.describe() for identity, one in now.processes.items() if identity not in self._before.processes),
            *(
                f"unit {name} of {user.name if user else 'the system'}: {unit.state} ({unit.sub_state})"
                for (user, name), unit in now.units.items()
                if (user, name) not in self._before.units
            ),
            *(f"listening socket {path}" for path in sorted(now.sockets - self._before.sockets)),
            *(f"file {path}" for path in sorted(now.files - self._before.files)),
        ]


def _user_processes() -> dict[tuple[int, int], Process]:
    # A bus that was started anew is the manager's affair, and as good as the one before. So is the manager of somebody
    # who always has one.
    return {
        (one.pid, one.started): one
        for user in EVERYONE
        for one in user.processes()
        if one.name != "dbus-daemon" or not _is_in(one.pid, "dbus.service")
        if not user.lingers or not _is_in(one.pid, "init.scope")
    }


def _is_in(pid: int, unit: str) -> bool:
    try:
        return os.path.basename(cgroup(pid)) == unit
    except (FileNotFoundError, ProcessLookupError):
        return False


def _made_units() -> dict[tuple[User | None, str], Unit]:
    managers = [None, *(user for user in EVERYONE if os.path.exists(f"{user.runtime_dir}/systemd/private"))]
    return {
        (manager, name): unit for manager in managers for name, unit in units(manager).items() if unit.made_at_run_time
    }


def _listening() -> set[str]:
    found = set()
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            fields = line.split(maxsplit=7)
            if len(fields) == 8 and fields[3] == _LISTENING_UNIX:
                found.add(fields[7].rstrip("\n"))
    for family in ("tcp", "tcp6"):
        with open(f"/proc/net/{family}") as table:
            for line in table:
                fields = line.split()
                if fields[3] == _LISTENING_TCP:
                    found.add(f"{family} port {int(fields[1].rpartition(':')[2], 16)}")
    return found
