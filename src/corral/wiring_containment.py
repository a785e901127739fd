"""Picks the containment of a host: the best level that can be had, and the reason for not having a better one."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from corral.domain import units
from corral.domain.errors import CorralError

if TYPE_CHECKING:
    from corral.adapters.procfs.containment import ProcessContainment
    from corral.adapters.systemd.containment import SystemdContainment
    from corral.places import Places
    from corral.ports.containment import Containment

log = logging.getLogger("corral.keeper")

#: The variables that name the slice of all agents; the second is what hosts prepared for Gas City have.
SLICE_VARIABLES = ("CORRAL_AGENT_SLICE", "GC_AGENT_SLICE")
#: How long finding out may take, all together. A bus that hangs costs this once, and no `up` more than that.
_PROBE_SECONDS = 5.0


async def choose(places: Places, instance: str) -> Containment:
    """The containment of this host. Asked once, when a keeper starts: it stays with what it found."""
    from corral.adapters.procfs.containment import ProcessContainment

    variable, agent_slice = named_slice()
    sweep = ProcessContainment(places, instance)
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            return await _systemd(instance, sweep, agent_slice)
    except TimeoutError:
        why = f"the systemd of this user did not answer within {_PROBE_SECONDS:.0f} s"
    except CorralError as error:
        why = error.message
    if variable:
        why = f"{variable}={agent_slice} is set, but agents cannot be put there: {why}"
        log.warning("%s", why)
    from corral.adapters.cgroup.containment import CgroupContainment

    found = await asyncio.to_thread(CgroupContainment.open, instance, sweep, why)
    if not isinstance(found, str):
        return found
    sweep.why = f"{why}; {found}"
    return sweep


def named_slice() -> tuple[str, str]:
    """The variable that names a slice for all agents, and the slice; both empty if none does."""
    for variable in SLICE_VARIABLES:
        value = os.environ.get(variable, "").strip()
        if value:
            return variable, value
    return "", ""


async def _systemd(instance: str, sweep: ProcessContainment, agent_slice: str) -> SystemdContainment:
    """The best level, proved by making scopes. Raises `CorralError` with the reason."""
    if agent_slice and not units.is_slice(agent_slice):
        raise CorralError(f"{agent_slice!r} is not the name of a slice")
    if not os.path.isdir("/run/systemd/system"):
        raise CorralError("this host does not run systemd")
    from corral.adapters.systemd.address import bus_address

    address = bus_address()
    if address is None:
        raise CorralError("there is no user bus: nobody is logged in with a systemd of their own, or linger is off")
    from corral.adapters.cgroup import hierarchy
    from corral.adapters.systemd.containment import SystemdContainment
    from corral.adapters.systemd.manager import UserManager

    mounted = hierarchy.find()
    if isinstance(mounted, str):
        raise CorralError(mounted)
    manager = UserManager(address)
    try:
        return await SystemdContainment.open(manager, mounted, sweep, instance=instance, agent_slice=agent_slice)
    except BaseException:
        manager.close()
        raise
