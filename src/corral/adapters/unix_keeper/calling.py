"""How the parts of a client make their calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

_T = TypeVar("_T")
#: For calls that only look. Calls that work (start, stop, a checkout) say themselves how long they may take.
#: What is answered in one piece (send, a screen, the way to attach) must be told of while the command still listens:
#: these and the time for a connection (`service.agents`) together stay below `client.wire.ANSWER_SECONDS`.
QUICK_SECONDS = 15.0
SEND_SECONDS = 18.0


class Calls(ABC):
    """Part of a client. What it asks is its own; how a call is made, the client knows."""

    @abstractmethod
    async def _call(self, answer: type[_T], verb: str, seconds: float | None = QUICK_SECONDS, **arguments: Any) -> _T:
        """Ask for a verb, and wait so many seconds for its answer; None: as long as the keeper lives."""
