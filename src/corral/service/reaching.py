"""Reaching a keeper for a request whose caller waits for one answer, and not for long."""

from __future__ import annotations

import asyncio

from corral.domain.errors import UnavailableError
from corral.ports.keeper import Keeper
from corral.supervise.link import Link
from corral.supervise.supervisor import Supervisor

#: How long a request that is answered in one piece may take to reach a keeper; see `adapters.unix_keeper.client`.
OPEN_SECONDS = 8.0


async def keeper_soon(supervisor: Supervisor, team: str, *agents: str) -> Keeper:
    """The keeper of a team, or of some agents of it, or `UnavailableError` before the caller has given up."""
    return await soon(supervisor.keepers.of(team, agents))


async def soon(link: Link) -> Keeper:
    """The keeper of a link, or `UnavailableError` before the caller has given up."""
    opening = asyncio.ensure_future(link.open())
    # Not cancelled when it takes too long: others wait for the same connection.
    await asyncio.wait({opening}, timeout=OPEN_SECONDS)
    if opening.done():
        return opening.result()
    opening.add_done_callback(lambda opened: opened.cancelled() or opened.exception())
    raise UnavailableError(
        f"no keeper could be reached or started within {OPEN_SECONDS:.0f} s",
        "try again; keeper.log in CORRAL_HOME may tell why",
    )
