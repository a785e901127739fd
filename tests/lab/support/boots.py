"""Reboots as a user's account sees them: all of it is killed at once, then its manager starts again, in a new boot.

The machine itself stays up, since the test runs in it; what a boot changes for the account is changed for it.
"""

import contextlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.lab.support.instances import LabInstance
from tests.lab.support.users import User
from tests.support.waiting import wait_for

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@contextlib.contextmanager
def boot_unit(instance: LabInstance) -> Iterator[str]:
    """In this block the unit that `corral daemon unit` prints is enabled as its help says; its name."""
    user = instance.user
    units = Path(user.home, ".config/systemd/user")
    had_config = units.parents[1].exists()
    told = instance.json("daemon", "unit")
    user.run("sh", "-ec", f'mkdir -p "{units}" && cat > "{units}/{told["name"]}"', input=told["unit"])
    user.systemctl("daemon-reload")
    user.systemctl("enable", told["name"])
    try:
        yield told["name"]
    finally:
        user.systemctl("disable", told["name"], check=False)
        user.systemctl("stop", told["name"], check=False)
        shutil.rmtree(units if had_config else units.parents[1])
        user.systemctl("daemon-reload", check=False)


def go_down(instance: LabInstance) -> None:
    """The host loses its power, as far as the account is concerned."""
    user = instance.user
    _system("kill", "--signal=KILL", f"user-{user.uid}.slice")
    _system("stop", f"user-{user.uid}.slice", f"user@{user.uid}.service")
    wait_for(lambda: not user.processes(), what=f"everything of {user.name} is gone")
    # As any boot does with what is in memory only.
    shutil.rmtree(instance.runtime)


def come_up(user: User) -> None:
    """The host is there again, and starts the managers of those who linger."""
    _system("start", f"user@{user.uid}.service")
    user.systemctl("start", "dbus.service")


@contextlib.contextmanager
def another_boot(directory: Path) -> Iterator[None]:
    """In this block the kernel has another name for the boot: processes that look it up now take it for a new one."""
    name = directory / "boot-id"
    name.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
    os.chmod(name, 0o444)
    # The machine has one already, on a file that is gone, which nothing can be mounted upon. Below it is the host's.
    subprocess.run(["umount", _BOOT_ID], capture_output=True, check=False)
    subprocess.run(["mount", "--bind", str(name), _BOOT_ID], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", _BOOT_ID], check=True)


def _system(*arguments: str) -> None:
    subprocess.run(["systemctl", *arguments], capture_output=True, text=True, timeout=60, check=True)
