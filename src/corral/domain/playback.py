"""Playing a recording: what is shown at which moment, at any speed, forwards and back. Pure.

A player has a position, in seconds of what was recorded. Whoever drives it says how much time has passed, and gets what
is to be painted. Long pauses in which nothing happened are passed over in a moment.
"""

from collections.abc import Sequence

from corral.domain.asciicast import OUTPUT, Event

#: A pause that is longer than this is played as this.
LONGEST_PAUSE = 2.0
SLOWEST, FASTEST = 0.125, 64.0
#: Before a picture that is painted from the beginning.
CLEAR = "\x1b[m\x1b[?1049l\x1b[r\x1b[H\x1b[2J"


class Player:
    """Plays events, whose times count from the beginning of the first."""

    def __init__(self, events: Sequence[Event], *, at: float = 0.0, speed: float = 1.0) -> None:
        self._events = events
        self._next = 0
        self.speed = min(max(speed, SLOWEST), FASTEST)
        self.paused = False
        #: Where in the recording it is.
        self.position = 0.0
        self._first = self.seek(at)

    @property
    def length(self) -> float:
        """The moment of the last event."""
        return self._events[-1][0] if self._events else 0.0

    @property
    def over(self) -> bool:
        """Everything was shown."""
        return self._next >= len(self._events)

    def begin(self) -> str:
        """What is to be painted first."""
        first, self._first = self._first, ""
        return first

    def wait(self) -> "float | None":
        """Seconds until there is something to show; None while it is paused or over."""
        if self.paused or self.over:
            return None
        return min(max(self._events[self._next][0] - self.position, 0.0), LONGEST_PAUSE) / self.speed

    def advance(self) -> str:
        """The time of `wait` has passed: what is to be painted now."""
        if self.over:
            return ""
        self.position = max(self.position, self._events[self._next][0])
        return self._shown_until(self.position)

    def pass_by(self, seconds: float) -> None:
        """Less time has passed than `wait` said."""
        if not self.paused and not self.over:
            self.position = min(self.position + seconds * self.speed, self._events[self._next][0])

    def seek(self, to: float) -> str:
        """Go to another moment: what has to be painted to be there."""
        to = min(max(to, 0.0), self.length)
        again = to < self.position or self._next == 0
        if again:
            self._next = 0
        self.position = to
        return (CLEAR if again else "") + self._shown_until(to)

    def faster(self, by: float) -> None:
        """Play so many times as fast."""
        self.speed = min(max(self.speed * by, SLOWEST), FASTEST)

    def _shown_until(self, moment: float) -> str:
        begin = self._next
        while self._next < len(self._events) and self._events[self._next][0] <= moment:
            self._next += 1
        return "".join(text for _, kind, text in self._events[begin : self._next] if kind == OUTPUT)
