"""Which TCP ports of this host somebody could be given: nobody has them, and the kernel gives them to nobody.

Who listens is what the kernel says, of every user and at any address. Only this network namespace is seen.

What agents of other instances of this user have is taken as well, whether or not somebody listens there yet: it is in
their environment. Of an agent that does not run, nothing says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.ports import listened_on
from corral.domain.port_blocks import BLOCK_VARIABLE, LARGEST_BLOCK
from corral.ports.resources import HostPorts

_INSTANCE = b"CORRAL_INSTANCE"
_EPHEMERAL = "/proc/sys/net/ipv4/ip_local_port_range"
#: What Linux has if nobody changed it.
_USUAL_EPHEMERAL = (32768, 60999)


def look(ports: Sequence[int], instance: str) -> HostPorts:
    """Which of the ports somebody has, for somebody of this instance. One look for all of them."""
    taken = _of_other_instances(instance) | listened_on() if ports else set()
    return HostPorts(ephemeral=ephemeral_range(), taken=[port for port in ports if port in taken])


def ephemeral_range(path: str = _EPHEMERAL) -> tuple[int, int]:
    """The first and the last port that the kernel gives to outgoing connections."""
    try:
        with open(path, encoding="ascii") as file:
            first, last = file.read().split()
            return int(first), int(last)
    except (OSError, ValueError):
        return _USUAL_EPHEMERAL


def _of_other_instances(instance: str) -> set[int]:
    """The ports that agents of other instances have, as far as they run and we may look into them."""
    found: set[int] = set()
    entry = BLOCK_VARIABLE.encode()
    for pid in proc.pids():
        variables = proc.environment(pid)
        # Most processes are nobody's agent, and that is quickly seen.
        if entry + b"=" in variables and proc.marker_value(variables, _INSTANCE) != instance:
            found.update(_block(proc.marker_value(variables, entry) or ""))
    return found


def _block(text: str) -> range:
    """The ports of `20000-20009`. Anybody can write anything into an environment, so not of more than there can be."""
    first, _, last = text.partition("-")
    if not (text.isascii() and first.isdecimal() and last.isdecimal() and len(text) <= len("65535-65535")):
        return range(0)
    return range(int(first), min(int(last), int(first) + LARGEST_BLOCK - 1) + 1)
