"""Output of a team's agents: without secrets to disk for `logs`, and into a word for what each agent does.

Output is written in bursts, so a busy agent costs a write now and then and a quiet one costs nothing: the timers run
only while something was written.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

from corral.domain.last_output import INTERRUPTED, missing_end
from corral.domain.last_question import QuestionFilter
from corral.domain.masking import Masker
from corral.domain.terminal_text import TextCleaner
from corral.ports.output import LogPage
from corral.ports.recording import Log

_FLUSH_SECONDS = 0.1
#: … and no later than when so much has come: neither memory nor a write shall grow with what a program can print.
_FLUSH_BYTES = 1 << 20
#: As much of the output is kept in memory as it takes to see where in it a screen begins.
_TAIL_BYTES = 8192
_KNOWN_LINES = 50
#: An agent that wrote nothing for this long is idle.
_IDLE_SECONDS = 3.0


class Recorder:
    """Records one agent. `on_activity(word)` is called when it begins to write and when it has fallen quiet."""

    def __init__(
        self,
        log: Log,
        masker: Callable[[], Masker],
        on_activity: Callable[[str, float], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._book = log
        self._new_masker = masker
        #: None until something is written: what is to be masked is another with each run.
        self._masker: Masker | None = None
        #: Without a terminal: of which run the last output was, and its position there.
        self._of: tuple[str, int] | None = None
        self._on_activity = on_activity
        self._on_trouble = on_trouble
        self._flush_timer: asyncio.TimerHandle | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._grown = asyncio.Event()
        self._failing = False
        self._unwritten = 0
        self._tail = b""
        self._question = QuestionFilter()
        self.last_output: float | None = None
        self.activity = "unknown"

    def add(self, data: bytes, of: tuple[str, int] | None = None) -> bytes:
        """Take a piece of output, and return what of it is for records.

        With the run it is `of` and its position there, it is from no terminal.
        """
        self.last_output = time.time()
        if of is None:
            data = self._question.feed(data)
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
        self._note(data, of)
        self._unwritten += len(data)
        if self._unwritten >= _FLUSH_BYTES:
            self.flush()
        loop = asyncio.get_running_loop()
        if self._flush_timer is None:
            self._flush_timer = loop.call_later(_FLUSH_SECONDS, self.flush)
        self._idle_after_a_while()
        self._set_activity("working")
        return data

    def mask_anew(self) -> None:
        """Other values are to be masked from now on."""
        if self._masker is not None:
            held, self._masker = self._masker.take_back(), None
            self._book.add(time.time(), self._masked().feed(held))

    def recorded(self, run: str) -> int:
        """How much of the output of a run without a terminal is recorded, by this keeper or an earlier one."""
        self.flush()
        return self._book.recorded(run)

    def started(self) -> None:
        """A new run begins: until it writes or stays quiet for a while, nothing is known of it."""
        self.activity = "unknown"
        self._tail = b""
        self._masker = None
        self._idle_after_a_while()

    def taken_over(self, screen: list[str], *, over: bool = False) -> None:
        """Another keeper recorded until now. What was printed between the two of them is read off the screen.

        Of a run that is `over`, nothing is said where nothing is missing: it may have ended long before.
        """
        past = self._book.read(after=None, lines=_KNOWN_LINES, since=None)
        self._tail = "".join(entry.text for entry in past.entries).encode()[-_TAIL_BYTES:]
        # What is known is without secrets: only what is shown without them can be compared with it.
        masker = self._new_masker()
        shown = masker.feed("\n".join(screen).encode()) + masker.finish()
        missing = self._missing(shown.decode("utf-8", "replace").split("\n"))
        # All that is shown is recorded now. Whether the next output goes on with its last line, nobody knows.
        self._tail = "\r\n".join([*screen, INTERRUPTED, ""]).encode()[-_TAIL_BYTES:]
        if over and not missing:
            return
        self._note(f"\r\n{INTERRUPTED}\r\n".encode() + missing)
        self.flush()
        self._idle_after_a_while()

    def flush(self) -> None:
        """Write what is pending. A disk that takes nothing is told once and tried again with the next burst."""
        self._unwritten = 0
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        if not self._book.dirty:
            return
        try:
            self._book.flush()
        except OSError as error:
            if not self._failing:
                self._failing = True
                self._on_trouble(f"its output is not recorded: {error.strerror}")
            return
        self._failing = False
        self._grown.set()
        self._grown = asyncio.Event()

    async def read(self, *, after: int | None, lines: int | None, since: float | None, wait: bool) -> LogPage:
        """A page of the log; with `wait`, not before there is something on it."""
        while True:
            self.flush()
            grown = self._grown
            page = self._book.read(after=after, lines=lines, since=since)
            if page.entries or not wait:
                return page
            after = page.next
            await grown.wait()

    def complete(self, screen: list[str]) -> None:
        """The run ended and this is what its screen shows: record what tmux did not hand on before it ended."""
        self._note(self._missing(screen))

    def _missing(self, screen: list[str]) -> bytes:
        """What the screen shows behind what was recorded."""
        cleaner = TextCleaner()
        recorded = (cleaner.feed(self._tail.decode("utf-8", "replace")) + cleaner.finish()).split("\n")
        if len(self._tail) == _TAIL_BYTES:
            del recorded[0]  # it begins in the middle of a line
        missing = missing_end(recorded, screen)
        return missing.replace("\n", "\r\n").encode() + b"\r\n" if missing else b""

    def ended(self) -> None:
        """The run ended: write the rest and stop the timers."""
        self._note(self._question.finish())
        if self._masker is not None:
            self._book.add(time.time(), self._masker.finish(), self._of)
            self._masker = None
        self.flush()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        self.activity = "unknown"

    def close(self) -> None:
        """Write the rest and let go of the file."""
        self.ended()
        self._book.close()

    def _note(self, data: bytes, of: tuple[str, int] | None = None) -> None:
        """Have it written down, without secrets."""
        if not data:
            return
        masker = self._masked()
        shown = masker.feed(data)
        self._of = of
        if of is not None:
            # Whoever goes on recording this run is to get what is held back once more.
            of = (of[0], of[1] - masker.held)
        self._book.add(time.time(), shown, of)

    def _masked(self) -> Masker:
        if self._masker is None:
            self._masker = self._new_masker()
        return self._masker

    def _idle_after_a_while(self) -> None:
        if self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._maybe_idle)

    def _maybe_idle(self) -> None:
        self._idle_timer = None
        quiet = time.time() - self.last_output if self.last_output is not None else _IDLE_SECONDS
        if quiet >= _IDLE_SECONDS - 0.05:
            self._set_activity("idle")
        else:
            self._idle_timer = asyncio.get_running_loop().call_later(_IDLE_SECONDS - quiet, self._maybe_idle)

    def _set_activity(self, word: str) -> None:
        if word != self.activity:
            self.activity = word
            self._on_activity(word, time.time())


class Recorders:
    """The recorders of one team, each made when its agent is first heard of. What they tell comes with the agent."""

    def __init__(
        self,
        log: Callable[[str], Log],
        masker: Callable[[str], Masker],
        on_activity: Callable[[str, str, float], None],
        on_trouble: Callable[[str, str], None],
    ) -> None:
        self._log = log
        self._masker = masker
        self._on_activity = on_activity
        self._on_trouble = on_trouble
        self._of_agent: dict[str, Recorder] = {}

    def of(self, agent: str) -> Recorder:
        """The recorder of an agent."""
        recorder = self._of_agent.get(agent)
        if recorder is None:
            recorder = self._of_agent[agent] = Recorder(
                self._log(agent),
                partial(self._masker, agent),
                partial(self._on_activity, agent),
                partial(self._on_trouble, agent),
            )
        return recorder

    def mask_anew(self) -> None:
        """Other values are to be masked from now on."""
        for recorder in self._of_agent.values():
            recorder.mask_anew()

    def close(self, agent: str) -> None:
        """Let go of the file of one that was removed."""
        recorder = self._of_agent.pop(agent, None)
        if recorder is not None:
            recorder.close()

    def close_all(self) -> None:
        """Write the rest of everything, and let go of the files."""
        for agent in list(self._of_agent):
            self.close(agent)
