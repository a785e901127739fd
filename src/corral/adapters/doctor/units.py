"""The user's service manager over D-Bus, for somebody who is in no hurry to be asynchronous.

Bounded in time, all of it together: a bus that hangs costs the doctor a few seconds once, and is not asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from corral.adapters.systemd.manager import Unit, UserManager
from corral.domain import units
from corral.domain.errors import UnavailableError
from corral.ports.doctor import ScopeUnit

#: Everything that the doctor looks at: what tmux makes for panes, and what Corral makes.
_WATCHED = (units.SPAWNED_BY_TMUX, "corral[-.]*.scope")
LIST_SECONDS = 3.0
STOP_SECONDS = 10.0

_T = TypeVar("_T")


class BusUnits:
    """See `ports.doctor.UserUnits`. To be closed."""

    def __init__(self, address: str, *, list_seconds: float = LIST_SECONDS) -> None:
        self._address = address
        self._list_seconds = list_seconds
        self._runner = asyncio.Runner()
        self._manager: UserManager | None = None
        #: Why it is not asked again; empty while it answers.
        self._silent = ""

    def list_scopes(self) -> list[ScopeUnit]:
        """See `UserUnits.list_scopes`."""
        return self._ask(_scopes, self._list_seconds)

    def stop(self, name: str) -> None:
        """See `UserUnits.stop`."""
        self._ask(lambda manager: manager.stop(name), STOP_SECONDS)

    def close(self) -> None:
        """Let go of the connection."""
        if self._manager is not None:
            self._manager.close()
        self._runner.close()

    def _ask(self, question: Callable[[UserManager], Awaitable[_T]], seconds: float) -> _T:
        if self._silent:
            raise UnavailableError(self._silent)
        try:
            return self._runner.run(self._answer(question, seconds))
        except TimeoutError:
            self._silent = f"the service manager of this user did not answer within {seconds:g} s"
            raise UnavailableError(self._silent) from None
        except UnavailableError as error:
            self._silent = error.message
            raise

    async def _answer(self, question: Callable[[UserManager], Awaitable[_T]], seconds: float) -> _T:
        if self._manager is None:
            self._manager = UserManager(self._address)
        async with asyncio.timeout(seconds):
            return await question(self._manager)


async def _scopes(manager: UserManager) -> list[ScopeUnit]:
    found = await manager.units(*_WATCHED)
    groups = await asyncio.gather(*(_control_group(manager, unit) for unit in found))
    return [
        ScopeUnit(unit.name, unit.active == "active", group, unit.description)
        for unit, group in zip(found, groups, strict=True)
    ]


async def _control_group(manager: UserManager, unit: Unit) -> str:
    return await manager.control_group(unit.name) if unit.active == "active" else ""
