"""What every use case works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corral.places import Places
from corral.ports.accounts import Accounts
from corral.ports.rooms import Rooms
from corral.ports.store import Store
from corral.service.lending import Lending
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The daemon as the use cases see it."""

    registry: Registry
    supervisor: Supervisor
    store: Store
    places: Places
    #: Unix time.
    now: Callable[[], float]
    #: Makes room for worktrees on a shared server; None in the instance of one person.
    rooms: Rooms | None = None
    #: Looks up OS users there.
    accounts: Accounts | None = None
    #: Keeps copies of repositories up there.
    lending: Lending | None = None
