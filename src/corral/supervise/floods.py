"""How much the keepers of a shared server are listened to.

A keeper is a process of its user, and can be made to say anything as fast as a socket takes it. What it says costs the
daemon time, and some of it is written down for good. So each has an allowance, far above what a keeper that works ever
says; who goes beyond it is hung up on, and not called again for a while. Others are served as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from corral.domain.allowance import Allowance
from corral.domain.errors import RefusedError, UnavailableError
from corral.ports.reports import Degraded, ProcessEnded, Report, RunExited

#: Of all reports, and of those that come to be written: at once, and a second.
_REPORTS = (20_000, 2_000)
_WRITTEN = (2_000, 200)
#: Connections that break.
_LOSSES = (20, 0.5)
#: A report that is written costs one more for so many bytes of it.
_BYTES = 1024
#: So long nobody calls a keeper that was hung up on.
CUT_OFF_SECONDS = 60.0

_encode = msgspec.msgpack.Encoder().encode


@dataclass(slots=True)
class _Heard:
    """What is to be known of one keeper."""

    reports: Allowance = field(default_factory=lambda: Allowance(*_REPORTS))
    written: Allowance = field(default_factory=lambda: Allowance(*_WRITTEN))
    losses: Allowance = field(default_factory=lambda: Allowance(*_LOSSES))
    #: Why it is not called, and until when.
    why: str = ""
    until: float = 0.0
    #: Somebody has been told of that.
    told: bool = True


class Floods:
    """By user, how much their keeper has said. `clock` only goes on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._heard: dict[str, _Heard] = {}

    def told(self, user: str, report: Report, *, believed: bool) -> None:
        """A keeper reports something. Raises RefusedError if it is hung up on for that."""
        heard, now = self._of(user), self._clock()
        if heard.until > now:
            raise RefusedError(heard.why, "")
        # What is not believed is in the log.
        lasts = not believed or isinstance(report, Degraded | ProcessEnded | RunExited)
        cost = 1 + len(_encode(report)) / _BYTES if lasts else 0.0
        if not heard.reports.take(now) or (cost and not heard.written.take(now, cost)):
            raise RefusedError(self._cut_off(heard, now, "it reports more than any keeper has to say"), "")

    def lost(self, user: str) -> bool:
        """The connection broke. False if the keeper was hung up on before."""
        heard, now = self._of(user), self._clock()
        if heard.until > now:
            return False
        if not heard.losses.take(now):
            self._cut_off(heard, now, "its connection breaks again and again")
        return True

    def news(self, user: str) -> str:
        """Why a keeper was hung up on, once each time; empty if there is nothing to tell."""
        heard = self._of(user)
        if heard.told:
            return ""
        heard.told = True
        return heard.why

    def check(self, user: str) -> None:
        """Raise UnavailableError for a keeper that is not to be called now."""
        heard, now = self._of(user), self._clock()
        if heard.until > now:
            raise UnavailableError(
                f"the keeper of {user} is not listened to for {heard.until - now:.0f} s more: {heard.why}",
                f"find out what it is that listens there; by {user}: systemctl --user status corral-keeper.service",
            )

    def _of(self, user: str) -> _Heard:
        return self._heard.setdefault(user, _Heard())

    @staticmethod
    def _cut_off(heard: _Heard, now: float, why: str) -> str:
        heard.why, heard.until, heard.told = why, now + CUT_OFF_SECONDS, False
        for allowance in (heard.reports, heard.written, heard.losses):
            allowance.renew()
        return why
