"""The units that a manager, the system's or a user's, has loaded."""

import subprocess
from dataclasses import dataclass

from tests.lab.support.users import User

_PROPERTIES = "Id,ActiveState,SubState,FragmentPath,ControlGroup,Slice"


@dataclass(frozen=True)
class Unit:
    """A unit as its manager shows it."""

    name: str
    state: str
    sub_state: str
    fragment: str
    cgroup: str
    slice: str

    @property
    def made_at_run_time(self) -> bool:
        """True for what somebody made by a call: transient units, and slices that came with a name alone."""
        return not self.fragment.startswith(("/usr/", "/lib/", "/etc/"))


def units(user: User | None = None, *kinds: str) -> dict[str, Unit]:
    """Every unit of the user's manager (the system's, if none is given) that is not simply inactive, by name.

    Without `kinds`: scopes, slices, services and sockets. Empty if the user has no manager now.
    """
    arguments = ["show", f"--property={_PROPERTIES}", f"--type={','.join(kinds or _KINDS)}", "*"]
    if user:
        done = user.systemctl(*arguments, check=False)
        if done.returncode:
            return {}
    else:
        done = subprocess.run(["systemctl", *arguments], capture_output=True, text=True, timeout=30, check=True)
    found = (_unit(block) for block in done.stdout.strip().split("\n\n") if block)
    return {one.name: one for one in found if one.state != "inactive"}


_KINDS = ("scope", "slice", "service", "socket", "timer")


def _unit(block: str) -> Unit:
    said = dict(line.partition("=")[::2] for line in block.splitlines())
    return Unit(
        said["Id"], said["ActiveState"], said["SubState"], said.get("FragmentPath", ""), said.get("ControlGroup", ""),
        said.get("Slice", ""),
    )  # fmt: skip
