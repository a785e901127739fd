"""The keepers of a shared server: one for each OS user, which the privileged helper has systemd start (ADR 19)."""

from __future__ import annotations

from collections.abc import Callable

from corral.adapters.unix_keeper.client import KeeperClient
from corral.domain.errors import UnavailableError
from corral.ports.reports import Report


class NoKeeperHere:
    """Says that the daemon of a shared server has no keeper of its own: agents never run as the daemon's user."""

    async def connect(self, _on_report: Callable[[Report], None], _on_lost: Callable[[], None]) -> KeeperClient:
        """Always `UnavailableError`."""
        raise UnavailableError(
            "the daemon of this host cannot start agents yet: it does not speak to the keepers of its users",
            "start the team in an instance of your own: CORRAL_HOME=~/.local/state/corral corral up",
        )
