"""The host's loop: descriptors, signals and a few timers, one thing after the other.

A mistake of ours in dealing with one of them is written down, and that one is let go; it harms no other. Whoever loses
the host loses exit codes.
"""

from __future__ import annotations

import heapq
import os
import select
import signal
import sys
import time
from collections.abc import Callable


class Loop:
    """Calls back until it is told to end."""

    def __init__(self) -> None:
        self._poller = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        #: Descriptors that were let go in this turn: what is told of them now is about files that are closed.
        self._stale: set[int] = set()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = 0
        #: Called when all that happened at once was dealt with.
        self.after_turn: Callable[[], None] = lambda: None
        self.done = False

    def watch(self, descriptor: int, events: int, handler: Callable[[int], None]) -> None:
        """Call back with what happened. A second time changes what is watched for."""
        if descriptor in self._handlers:
            self._poller.modify(descriptor, events)
        else:
            self._poller.register(descriptor, events)
        self._handlers[descriptor] = handler

    def let_go(self, descriptor: int) -> None:
        """Watch it no more; to be called before it is closed."""
        if self._handlers.pop(descriptor, None) is not None:
            self._poller.unregister(descriptor)
            self._stale.add(descriptor)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Call back once, after so many seconds."""
        self._numbers += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._numbers, action))

    def on_signal(self, handlers: dict[int, Callable[[], None]]) -> None:
        """Call back when one of these signals came. All that may have been ignored is caught as well.

        A program that is started finds the default for a signal that was caught, and would go on to ignore one that
        was ignored.
        """
        ours, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
        caught = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ, *handlers}
        caught |= {number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN}
        for number in caught:
            signal.signal(number, _caught)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

        def came(_: int) -> None:
            for number in set(os.read(ours, 1 << 12)):
                if number in handlers:
                    _went_well(handlers[number])

        self.watch(ours, select.EPOLLIN, came)

    def run(self) -> None:
        """Until `done`."""
        while not self.done:
            for descriptor, events in self._poller.poll(self._patience()):
                handler = self._handlers.get(descriptor)
                if handler is None or descriptor in self._stale:
                    continue
                if not _went_well(handler, events):
                    self.let_go(descriptor)  # it would be told again, and again
            self._stale.clear()
            _went_well(self.after_turn)
            if self._timers and self._timers[0][0] <= time.monotonic():
                self._run_timers()
                _went_well(self.after_turn)

    def close(self) -> None:
        """Let go of everything."""
        self._poller.close()

    def _run_timers(self) -> None:
        until = time.monotonic()
        while self._timers and self._timers[0][0] <= until:
            _went_well(heapq.heappop(self._timers)[2])

    def _patience(self) -> float | None:
        return max(self._timers[0][0] - time.monotonic(), 0.0) if self._timers else None


def _caught(*_: object) -> None:
    """What matters is that the loop wakes up."""


def _went_well(action: Callable[..., None], *arguments: int) -> bool:
    try:
        action(*arguments)
    except Exception:
        sys.excepthook(*sys.exc_info())
        return False
    return True
