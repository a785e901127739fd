"""What the doctor asks of a host: to look, and with `--fix` to heal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from corral.domain.diagnosis import Finding
from corral.domain.diagnosis_cures import Cure, Healed
from corral.domain.diagnosis_facts import Facts, Records


class ScopeUnit(NamedTuple):
    """A scope as the user's service manager lists it."""

    name: str
    active: bool
    #: Its cgroup below the root of the hierarchy, such as `/user.slice/…`; empty if it has none.
    control_group: str
    description: str


class UserUnits(Protocol):
    """The user's service manager. Bounded in time: a bus that hangs raises UnavailableError."""

    def list_scopes(self) -> Sequence[ScopeUnit]:
        """The scopes of this user that tmux or Corral made."""

    def stop(self, name: str) -> None:
        """Stop a unit, and return when that is done."""


#: Teams and agents as they are known now.
KnownRecords = Callable[[], Records]
#: Writes to the journal what was tried, and what came of it. Raises CorralError if that cannot be done.
Chronicle = Callable[[Sequence[Finding]], None]


class HostView(Protocol):
    """Looks at this host, and changes nothing."""

    def facts(self) -> Facts:
        """All that the doctor judges by, from one look."""


class Hands(Protocol):
    """Carries out cures. Each is checked once more before it is done, for the host may have changed."""

    def heal(self, cures: Sequence[Cure]) -> list[Healed]:
        """What came of each, in the same order."""
