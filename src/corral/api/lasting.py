"""Answers that take their time: whoever wants to know what came of one is told when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from corral.domain.errors import CorralError

MEDIA_TYPE = "application/x-ndjson"
#: How a stream ended that nobody wanted to hear any more.
LEFT = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an answer ended."""

    status: int = 200
    #: What the work came to; None if nothing needs to be known of it but that it is done.
    result: object = None
    error: Exception | None = None
    #: In a word, if it did not come to its end by itself.
    how: str = ""
    #: Facts about it, by whoever answered.
    noted: Mapping[str, object] = field(default_factory=dict)


class Lasting:
    """What every such answer has. The first ending counts: who hears no more of what has failed did not end it."""

    _ending: Ending | None = None
    _tell: Callable[[Ending], object] | None = None
    #: How whoever hears it is told of an error: somebody else's words are not Corral's (`telling.in_whose_words`).
    worded: Callable[[CorralError], CorralError] = staticmethod(lambda error: error)

    def when_over(self, tell: Callable[[Ending], object]) -> None:
        """Tell how it ended, once it has; at once if that is so."""
        if self._ending is not None:
            tell(self._ending)
        else:
            self._tell = tell

    def over(self, ending: Ending) -> None:
        """It has ended."""
        if self._ending is None:
            self._ending = ending
            if self._tell is not None:
                self._tell(ending)


class Flow(Lasting, StreamingResponse):
    """A stream. It is over when whoever makes it says so, or at the latest when nobody hears it any more."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.over(Ending(how=LEFT))


class Work(Lasting, StreamingResponse):
    """The progress of some work. The work says when it is over: it goes on if nobody hears of it any more."""
