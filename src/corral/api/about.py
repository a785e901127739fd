"""What a request is about: found as its handler will find it, and then fixed, so that both mean the same.

A finder is run in a pass (`service.authority`). It resolves names among what the caller may know of, as the handlers do
among all there is, and says how the request is to be read: the query and the body that the handler gets have the names
that were decided about, whatever was written there before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import parse_qs, quote, unquote_plus

import msgspec
from starlette.requests import Request

from corral.api import requests
from corral.domain.errors import WrongUseError
from corral.domain.policy import Target
from corral.service.authority import Asking
from corral.service.resolve import Roster

_B = TypeVar("_B", bound=requests.Body)
#: Query parameters, and all their values, that are put in the place of whatever values they had.
Pins = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a request is about, and how it is to be read."""

    #: Each of them is a question, and each must be allowed.
    on: tuple[Target, ...]
    #: What counts for the verb alone.
    facts: Mapping[str, str] = field(default_factory=dict)
    #: Further such facts: each thing is asked about with each of them.
    more_facts: tuple[Mapping[str, str], ...] = ()
    pins: Pins = field(default_factory=dict)
    #: The body as the handler is to have it; None: as it came.
    order: msgspec.Struct | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A request, for its finder."""

    request: Request
    asking: Asking
    #: The name of the handler.
    verb: str
    #: What the caller may know of, and all there is.
    seen: Roster
    everything: Roster
    #: The body, if targets are in it.
    body: requests.Body | None = None
    #: What had to be waited for before the passes began: where a process is.
    place: tuple[str, str] | None = None
    #: And the name of the team that the file in the body declares; empty if it declares none.
    declares: str = ""

    def text(self, name: str) -> str:
        """A query parameter, as handlers read it."""
        return requests.text(self.request, name)

    def texts(self, name: str) -> list[str]:
        """All values of one that names something; there are at most `requests.MOST_NAMED`."""
        query: bytes = self.request.scope["query_string"]
        found = parse_qs(query.decode("latin-1"), keep_blank_values=True).get(name, [])
        if len(found) > requests.MOST_NAMED:
            raise WrongUseError(f"{name} is given {len(found)} times: {requests.MOST_NAMED} at most", "name fewer")
        return found

    @property
    def whereabouts(self) -> dict[str, str]:
        """Where the caller is, as handlers read it."""
        return requests.whereabouts(self.request)

    def order(self, kind: type[_B]) -> _B:
        """The body."""
        assert isinstance(self.body, kind)
        return self.body

    def target(self, team: str, agent: str = "") -> Target:
        """An agent, or without a name a team."""
        return self.asking.authority.target(team, agent)

    def allows(self, on: Target) -> bool:
        """Whether the request would be allowed on this alone."""
        return self.asking.decision(self.verb, on).allow


Finder = Callable[[Case], About]


def pinned(query: bytes, pins: Pins) -> bytes:
    """The query, with this in it and nothing else of the same names."""
    kept = [part for part in query.split(b"&") if part and _name(part) not in pins]
    said = [f"{name}={quote(value, safe='')}".encode("ascii") for name, values in pins.items() for value in values]
    return b"&".join([*kept, *said])


def _name(part: bytes) -> str:
    return unquote_plus(part.partition(b"=")[0].decode("latin-1"))
