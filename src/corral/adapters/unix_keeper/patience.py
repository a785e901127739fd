"""How long an answer of a keeper is waited for: as long as it lives, and no longer than the call may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from corral.domain.errors import UnavailableError

#: However long a call may take: a keeper that says nothing for so long is asked for a sign of life, and gets so long
#: to give one. It never does its work in a way that keeps it from answering, so without a sign it is stopped or stuck.
SILENCE_SECONDS, SIGN_SECONDS = 4.0, 5.0
#: One that has been silent through all of that gets less, until it is heard of again.
STILL_SILENT_SECONDS = 1.0


class Pulse:
    """What is heard of a keeper. `ask` asks it for a sign of life."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self.ask = ask
        #: Frames that came so far: a sign of life is any of them.
        self.beats = 0
        #: The last of them before it was found to be silent.
        self.silent_after: int | None = None


class Patience:
    """Ends the wait for one answer with an `UnavailableError` when there is no use in it. One timer, and no task."""

    def __init__(self, pulse: Pulse, who: str, verb: str, seconds: float, answer: asyncio.Future[Any]) -> None:
        self._pulse, self._who, self._verb, self._seconds, self._answer = pulse, who, verb, seconds, answer
        self._loop = asyncio.get_running_loop()
        self._began = self._heard = pulse.beats
        self._deadline = self._loop.time() + seconds
        #: It was asked for a sign of life.
        self._asked = False
        self._wait(STILL_SILENT_SECONDS if self._is_known_to_be_silent() else SILENCE_SECONDS)

    def end(self) -> None:
        """The answer is there, or nobody wants it any more."""
        self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        self._timer = self._loop.call_at(min(self._loop.time() + seconds, self._deadline), self._look)

    def _is_known_to_be_silent(self) -> bool:
        return self._heard == self._pulse.silent_after

    def _look(self) -> None:
        if self._answer.done():
            return
        beats = self._pulse.beats
        if self._loop.time() >= self._deadline:
            self._answer.set_exception(self._silent() if beats == self._began else self._late())
        elif beats != self._heard:
            self._heard, self._asked = beats, False
            self._wait(SILENCE_SECONDS)
        elif self._asked or self._is_known_to_be_silent():
            self._pulse.silent_after = beats
            self._answer.set_exception(self._silent())
        else:
            self._asked = True
            self._pulse.ask()
            self._wait(SIGN_SECONDS)

    def _silent(self) -> UnavailableError:
        return UnavailableError(
            f"{self._who} does not answer; it was asked for {self._verb}, and gives no sign of life",
            "it is stopped or stuck: kill -CONT lets a stopped one go on; kill -9 ends it, and another takes over; "
            "the agents stay up either way",
        )

    def _late(self) -> UnavailableError:
        return UnavailableError(
            f"{self._who} is alive, and has not answered {self._verb} within {self._seconds:.0f} s",
            "try again; keeper.log in CORRAL_HOME may tell why",
        )
