"""Keeping a program to the ports of its agent."""

from __future__ import annotations

from collections.abc import Mapping

from corral.domain.bindings import OWN_PORTS
from corral.domain.errors import CorralError, RefusedError
from corral.domain.port_blocks import BLOCK_VARIABLE
from corral.keeper.tools import HostTools


def through_own_ports(tools: HostTools, bind: str, environment: Mapping[str, str]) -> list[str]:
    """What a program is started through, so that it can listen where `bind` says; nothing if that is anywhere.

    `environment` is the agent's: it says which ports it has. Nothing is started that could not be kept to them.
    """
    if bind != OWN_PORTS:
        return []
    if tools.no_own_ports:
        raise RefusedError(f'bind = "{OWN_PORTS}": {tools.no_own_ports}', "leave bind out, or use a newer kernel")
    ports = environment.get(BLOCK_VARIABLE)
    if not ports:
        raise CorralError(f'bind = "{OWN_PORTS}", and it has no ports', "corral stop it, then corral up")
    return tools.own_ports(ports)
