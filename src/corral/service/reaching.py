"""Reaching a keeper for a request whose caller waits for one answer, and not for long."""

from __future__ import annotations

import asyncio
import logging

from corral.domain.errors import CorralError, UnavailableError
from corral.ports.keeper import Keeper
from corral.supervise.supervisor import Supervisor

log = logging.getLogger("corral.daemon")

#: How long a request that is answered in one piece may take to reach a keeper; see `adapters.unix_keeper.client`.
OPEN_SECONDS = 8.0


async def keeper_soon(supervisor: Supervisor) -> Keeper:
    """The keeper, or `UnavailableError` before the caller has given up."""
    opening = asyncio.ensure_future(supervisor.link.open())
    # Not cancelled when it takes too long: others wait for the same connection.
    await asyncio.wait({opening}, timeout=OPEN_SECONDS)
    if opening.done():
        return opening.result()
    opening.add_done_callback(lambda opened: opened.cancelled() or opened.exception())
    raise UnavailableError(
        f"no keeper could be reached or started within {OPEN_SECONDS:.0f} s",
        "try again; keeper.log in CORRAL_HOME may tell why",
    )


async def tell_attached(supervisor: Supervisor, team: str, title: str, text: str) -> None:
    """Show people who are attached to a team a line, if a keeper is there. Nothing depends on it."""
    keeper = supervisor.link.connected
    if keeper is None:
        return
    try:
        await keeper.announce(team, title, text, bell=True, desktop=False)
    except CorralError as error:
        log.info("nobody attached to %s could be told: %s", team, error.message)
