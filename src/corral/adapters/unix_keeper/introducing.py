"""How a keeper that has let us connect becomes one that is relied on: it says who it is, and that is right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from corral.adapters.unix_keeper.client import KeeperClient
from corral.domain.errors import UnavailableError
from corral.ports.keeper import Hello

_ATTEMPTS = 3


async def introduced(
    connect: Callable[[], Awaitable[KeeperClient]], wrong: Callable[[Hello], UnavailableError | None]
) -> KeeperClient:
    """A keeper that `wrong` has nothing against. Nothing stays open of one that is not taken."""
    for attempt in range(1, _ATTEMPTS + 1):
        client = await connect()
        try:
            hello = await client.hello()
        except UnavailableError:
            # A keeper that is just ending, or was killed a moment ago, still lets one connect.
            if attempt == _ATTEMPTS or not client.closed:
                client.close()
                raise
            continue
        except BaseException:
            client.close()  # nobody waits for it any more
            raise
        if (error := wrong(hello)) is not None:
            client.close()
            raise error
        client.introduced = True
        return client
    raise AssertionError("unreachable")
